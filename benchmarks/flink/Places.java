import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.functions.FunctionContext;
import org.apache.flink.table.functions.TableFunction;

/**
 * Floor and room of a sensor, from a file with tabs that the job's parameter {@code places} names.
 *
 * <p>Held in memory in Flink's own types, so that nothing is converted: what a lookup join with a full cache costs at least.
 */
@FunctionHint(output = @DataTypeHint(value = "ROW<`floor` INT, room STRING>", bridgedTo = RowData.class))
public final class Places extends TableFunction<RowData> {
    private transient Map<StringData, RowData> places;

    @Override
    public void open(FunctionContext context) throws IOException {
        places = new HashMap<>();
        for (String line : Files.readAllLines(Path.of(context.getJobParameter("places", "")))) {
            String[] parts = line.split("\t");
            places.put(
                    StringData.fromString(parts[0]),
                    GenericRowData.of(Integer.valueOf(parts[1]), StringData.fromString(parts[2])));
        }
    }

    public void eval(@DataTypeHint(value = "STRING", bridgedTo = StringData.class) StringData sensor) {
        RowData place = places.get(sensor);
        if (place != null) {
            collect(place);
        }
    }
}
