import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import software.amazon.event.ruler.Ruler;

/** Reads lines {"pattern": …, "event": …} and answers each with true, false, or "error: …" for a pattern that is refused. */
public final class Match {
    public static void main(String[] args) throws Exception {
        ObjectMapper json = new ObjectMapper();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode question = json.readTree(line);
            System.out.println(answer(question.get("pattern").toString(), question.get("event").toString()));
        }
    }

    private static String answer(String pattern, String event) {
        try {
            return String.valueOf(Ruler.matchesRule(event, pattern));
        } catch (Exception error) {
            return "error: " + String.valueOf(error.getMessage()).replace('\n', ' ');
        }
    }
}
