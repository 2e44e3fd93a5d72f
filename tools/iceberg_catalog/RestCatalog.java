import jakarta.servlet.DispatcherType;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.Files;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.FilterHolder;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/** Iceberg's REST catalog over a file of SQLite and local folders: arguments are a port, the file, and the tokens that it takes. */
public class RestCatalog {
  public static void main(String[] arguments) throws Exception {
    JdbcCatalog catalog = new JdbcCatalog(properties -> new LocalFiles(), null, true);
    catalog.initialize("rest", Map.of("uri", "jdbc:sqlite:" + arguments[1], "warehouse", "/nowhere"));
    ServletContextHandler context = new ServletContextHandler();
    context.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
    Set<String> tokens = Set.of(arguments[2].split(","));
    context.addFilter(new FilterHolder(new Login(tokens)), "/*", EnumSet.of(DispatcherType.REQUEST));
    Server server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])));
    server.setHandler(context);
    server.start();
    server.join();
  }

  /** Refuses requests without a token, but that for one. */
  static class Login extends HttpFilter {
    private final Set<String> tokens;

    Login(Set<String> tokens) {
      this.tokens = tokens;
    }

    @Override
    protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
        throws IOException, ServletException {
      String given = request.getHeader("Authorization");
      boolean asks = request.getRequestURI().endsWith("/oauth/tokens");
      if (asks || (given != null && tokens.contains(given.replaceFirst("^Bearer ", "")))) {
        chain.doFilter(request, response);
        return;
      }
      response.setStatus(HttpServletResponse.SC_UNAUTHORIZED);
      response.setContentType("application/json");
      response.getWriter().write("{\"error\":{\"message\":\"who are you?\",\"type\":\"NotAuthorizedException\",\"code\":401}}");
    }
  }

  /** The files of this machine. */
  static class LocalFiles implements FileIO {
    private static File file(String location) {
      return new File(location.replaceFirst("^file:(//)?", ""));
    }

    @Override
    public InputFile newInputFile(String location) {
      return Files.localInput(file(location));
    }

    @Override
    public OutputFile newOutputFile(String location) {
      file(location).getParentFile().mkdirs();
      return Files.localOutput(file(location));
    }

    @Override
    public void deleteFile(String location) {
      file(location).delete();
    }
  }
}
