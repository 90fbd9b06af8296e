import io.aeron.Aeron;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.FragmentHandler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.agrona.BufferUtil;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Aeron over shared memory, with an embedded media driver. Both sides spin on a processor of their own; the driver, which has
 * no part in a message, backs off. The rate is one way, where the publication waits for its subscriber.
 */
public final class PeerAeron {
  private static final String CHANNEL = "aeron:ipc?term-length=16m|mtu=8k"; // 4 KiB in one piece
  private static final int ASKS = 1001;
  private static final int ANSWERS = 1002;
  private static final int BATCH = 256;
  private static final int WINDOW = 4096;
  private static final int FRAGMENTS = 64;
  private static final long WARM = TimeUnit.SECONDS.toNanos(1);

  private static int size = 64;
  private static boolean rate = false;
  private static long time = TimeUnit.MILLISECONDS.toNanos(400);
  private static String[] cpus = {"0", "1"};
  private static volatile boolean over = false;
  private static long answered = -1;
  private static long seen = 0;

  public static void main(final String[] words) throws Exception {
    for (int i = 0; i + 1 < words.length; i += 2) {
      final String value = words[i + 1];
      switch (words[i]) {
        case "--size" -> size = Integer.parseInt(value);
        case "--mode" -> rate = value.equals("rate");
        case "--milliseconds" -> time = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(value));
        case "--cpus" -> cpus = value.split(",");
        default -> {
          System.err.println("'" + words[i] + "' is not known: --size BYTES --mode rtt|rate --cpus A,B --milliseconds N");
          System.exit(2);
        }
      }
    }
    final Path folder = Files.createTempDirectory("peer-aeron");
    final MediaDriver.Context driver = new MediaDriver.Context()
        .aeronDirectoryName(folder.resolve("driver").toString())
        .dirDeleteOnStart(true)
        .dirDeleteOnShutdown(true)
        .threadingMode(ThreadingMode.SHARED)
        .sharedIdleStrategy(new BackoffIdleStrategy(1, 1, TimeUnit.MICROSECONDS.toNanos(10), TimeUnit.MILLISECONDS.toNanos(1)));
    try (MediaDriver embedded = MediaDriver.launch(driver);
        Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(embedded.aeronDirectoryName()));
        Subscription asked = aeron.addSubscription(CHANNEL, ASKS);
        Publication asks = aeron.addExclusivePublication(CHANNEL, ASKS);
        Subscription answers = aeron.addSubscription(CHANNEL, ANSWERS);
        Publication answer = aeron.addExclusivePublication(CHANNEL, ANSWERS)) {
      final Thread server = new Thread(() -> serve(asked, answer), "server");
      server.setDaemon(true);
      server.start();
      pin(cpus[0]);
      while (!asks.isConnected() || !answers.isConnected()) {
        Thread.onSpinWait();
      }
      measure(asks, answers, WARM);
      print(measure(asks, answers, time));
      over = true;
      server.join(TimeUnit.SECONDS.toMillis(5));
    } finally {
      Files.deleteIfExists(folder);
    }
  }

  private static long sum(final org.agrona.DirectBuffer buffer, final int offset, final int length) {
    long sum = 0;
    for (int i = 0; i + 8 <= length; i += 8) {
      sum += buffer.getLong(offset + i);
    }
    return sum;
  }

  private static void send(final Publication to, final UnsafeBuffer message, final int length) {
    while (to.offer(message, 0, length) < 0) {
      Thread.onSpinWait();
    }
  }

  private static void serve(final Subscription asked, final Publication answer) {
    pin(cpus[1]);
    final UnsafeBuffer reply = new UnsafeBuffer(BufferUtil.allocateDirectAligned(8, 64));
    final FragmentHandler handler = (buffer, offset, length, header) -> {
      final long value = sum(buffer, offset, length);
      if (rate) {
        seen += value;
      } else {
        reply.putLong(0, value);
        send(answer, reply, 8);
      }
    };
    while (!over) {
      if (asked.poll(handler, FRAGMENTS) == 0) {
        Thread.onSpinWait();
      }
    }
  }

  private static List<Double> measure(final Publication asks, final Subscription answers, final long length) {
    final UnsafeBuffer message = new UnsafeBuffer(BufferUtil.allocateDirectAligned(size, 64));
    final FragmentHandler handler = (buffer, offset, bytes, header) -> answered = buffer.getLong(offset);
    final List<Double> samples = new ArrayList<>();
    final int some = rate ? WINDOW : BATCH;
    final long end = System.nanoTime() + length;
    for (long start = System.nanoTime(); start - end < 0; ) {
      for (int i = 0; i < some; i++) {
        message.setMemory(0, size, (byte) (i % 251));
        send(asks, message, size);
        if (rate) {
          continue;
        }
        while (answers.poll(handler, 1) == 0) {
          Thread.onSpinWait();
        }
        if (answered != sum(message, 0, size)) {
          throw new IllegalStateException("wrong answer");
        }
      }
      final long now = System.nanoTime();
      samples.add(rate ? some * 1e9 / (now - start) : (double) (now - start) / some);
      start = now;
    }
    return samples;
  }

  private static void print(final List<Double> samples) {
    final List<Double> sorted = samples.stream().sorted().toList();
    final double median = sorted.get(sorted.size() / 2);
    final double worst = sorted.get((int) ((sorted.size() - 1) * (rate ? 0.01 : 0.99)));
    System.out.printf("{\"name\":\"peer-aeron\",\"size\":%d,\"mode\":\"%s\",\"median\":%.1f,\"p99\":%.1f,\"ops\":%.0f,\"samples\":[%s]}%n",
        size, rate ? "rate" : "rtt", median, worst, rate ? median : 1e9 / median,
        samples.stream().map(sample -> String.format("%.1f", sample)).collect(Collectors.joining(",")));
  }

  /** Java itself knows no affinity. */
  private static void pin(final String cpu) {
    try {
      final String thread = Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString();
      final Process taskset = new ProcessBuilder("taskset", "-p", "-c", cpu, thread)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectErrorStream(true).start();
      if (taskset.waitFor() != 0) {
        System.err.println("peer-aeron: not pinned to processor " + cpu);
      }
    } catch (final IOException | InterruptedException failure) {
      System.err.println("peer-aeron: not pinned: " + failure);
    }
  }
}
