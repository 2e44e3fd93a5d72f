import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;

/**
 * Runs statements of Flink SQL in this process, each to its end: {@code RunSql FILE SETTING=VALUE...}.
 *
 * <p>Statements end with a semicolon at the end of a line. The last line printed has the seconds that the last one took,
 * without the start of the process and the statements before it.
 */
public final class RunSql {
    public static void main(String[] arguments) throws Exception {
        Map<String, String> settings = new HashMap<>();
        for (int at = 1; at < arguments.length; at++) {
            String[] parts = arguments[at].split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        TableEnvironment environment = TableEnvironment.create(
                EnvironmentSettings.newInstance()
                        .inStreamingMode()
                        .withConfiguration(Configuration.fromMap(settings))
                        .build());
        double seconds = 0;
        for (String statement : Files.readString(Path.of(arguments[0])).split(";\\s*\n")) {
            if (!statement.isBlank()) {
                long began = System.nanoTime();
                TableResult result = environment.executeSql(statement);
                result.await();
                seconds = (System.nanoTime() - began) / 1e9;
            }
        }
        System.out.println("{\"seconds\": " + seconds + ", \"steady\": null}");
        System.exit(0); // threads of the cluster within would keep the process
    }
}
