import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/**
 * java.util.zip's side of `npm run test:interop`.
 *
 * <pre>
 * java Archives.java read FILE            the files of an archive as JSON, by its directory
 * java Archives.java stream FILE          the same, from its beginning on
 * java Archives.java write FILE PATH...   an archive, sizes and checksums behind the data
 * </pre>
 */
class Archives {
  public static void main(String[] args) throws Exception {
    switch (args[0]) {
      case "read" -> read(args[1]);
      case "stream" -> stream(args[1]);
      case "write" -> write(args);
      default -> throw new IllegalArgumentException(args[0]);
    }
  }

  private static void read(String path) throws Exception {
    List<String> entries = new ArrayList<>();
    try (ZipFile archive = new ZipFile(path)) {
      for (ZipEntry entry : Collections.list(archive.entries())) {
        try (InputStream content = archive.getInputStream(entry)) {
          entries.add(tell(entry, content));
        }
      }
    }
    System.out.println(entries);
  }

  private static void stream(String path) throws Exception {
    List<String> entries = new ArrayList<>();
    try (ZipInputStream archive = new ZipInputStream(new FileInputStream(path))) {
      for (ZipEntry entry = archive.getNextEntry(); entry != null; entry = archive.getNextEntry()) {
        entries.add(tell(entry, archive));
      }
    }
    System.out.println(entries);
  }

  private static String tell(ZipEntry entry, InputStream content) throws Exception {
    MessageDigest hash = MessageDigest.getInstance("SHA-256");
    byte[] bytes = content.readAllBytes();
    String sha256 = HexFormat.of().formatHex(hash.digest(bytes));
    return String.format("{\"name\":\"%s\",\"size\":%d,\"sha256\":\"%s\"}", entry.getName(), bytes.length, sha256);
  }

  private static void write(String[] args) throws Exception {
    try (ZipOutputStream archive = new ZipOutputStream(new FileOutputStream(args[1]))) {
      for (int index = 2; index < args.length; index += 1) {
        Path path = Path.of(args[index]);
        archive.putNextEntry(new ZipEntry(path.getFileName().toString()));
        Files.copy(path, archive);
        archive.closeEntry();
      }
    }
  }
}
