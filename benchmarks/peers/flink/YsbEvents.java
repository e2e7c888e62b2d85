import org.apache.flink.streaming.api.functions.source.legacy.RichParallelSourceFunction;
import org.apache.flink.streaming.api.watermark.Watermark;

/** Makes the events of the Yahoo benchmark, 10 million for each second of event time: the rows of actorstream's generator. */
public final class YsbEvents {
  static final long START_MS = 1_700_000_000_000L;
  static final int PER_MS = 10_000;
  static final int BATCH = 1024;

  private YsbEvents() {}

  /** An event of integers. */
  public static class Event {
    public int user, page, ad;
    public byte adType, eventType;
    public long time;
    public int address;
  }

  /** An event of texts; ids are UUIDs out of a list, so a text costs a reference. */
  public static class TextEvent {
    public String user, page, ad, adType, eventType;
    public long time;
    public String address;
  }

  static int word(long number, int key) {
    int x = (int) number ^ key;
    x ^= x >>> 16;
    x *= 0x7feb352d;
    x ^= x >>> 15;
    x *= 0x846ca68b;
    return x ^ (x >>> 16);
  }

  static int second(int word) {
    int g = word * 0x9e3779b9;
    return g ^ (g >>> 16);
  }

  /** The key of the 2^32 rows that a number is among, seed 0. */
  static int key(long number) {
    long x = (number >>> 32) * 0x9e3779b97f4a7c15L;
    x = (x ^ (x >>> 30)) * 0xbf58476d1ce4e5b9L;
    x = (x ^ (x >>> 27)) * 0x94d049bb133111ebL;
    return (int) ((x ^ (x >>> 31)) >>> 32);
  }

  static int ad(int word) {
    return ((word >>> 12) * 1000) >>> 20;
  }

  static int eventType(int word) {
    return ((word & 0xfff) * 3) >>> 12;
  }

  static int user(int second) {
    return ((second >>> 16) * 100) >>> 16;
  }

  static int page(int second) {
    return ((second & 0xffff) * 100) >>> 16;
  }

  static int adType(int second) {
    return (((second * 0x85ebca6b) >>> 20) * 5) >>> 12;
  }

  /** Rows shard, shard + shards, ... below `rows`; BATCH of them under one lock, a watermark as often as they ask. */
  abstract static class Source<T> extends RichParallelSourceFunction<T> {
    private final long rows;
    private volatile boolean running = true;

    Source(long rows) {
      this.rows = rows;
    }

    abstract T event();

    abstract void fill(T event, int word, int second, long time);

    @Override
    public void run(SourceContext<T> context) {
      final int shards = getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
      long number = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
      final T event = event();
      long last = START_MS;
      while (running && number < rows) {
        synchronized (context.getCheckpointLock()) {
          long time = START_MS + number / PER_MS, next = (number / PER_MS + 1) * PER_MS;
          final int key = key(number);
          for (int i = 0; i < BATCH && number < rows; i++, number += shards) {
            if (number >= next) {
              time++;
              next += PER_MS;
            }
            final int word = word(number, key);
            fill(event, word, second(word), time);
            context.collectWithTimestamp(event, time);
          }
          if (time >= last + 100) {
            context.emitWatermark(new Watermark(time - 1));
            last = time;
          }
        }
      }
    }

    @Override
    public void cancel() {
      running = false;
    }
  }

  /** Events of integers. */
  public static final class Integers extends Source<Event> {
    Integers(long rows) {
      super(rows);
    }

    @Override
    Event event() {
      return new Event();
    }

    @Override
    void fill(Event event, int word, int second, long time) {
      event.user = user(second);
      event.page = page(second);
      event.ad = ad(word);
      event.adType = (byte) adType(second);
      event.eventType = (byte) eventType(word);
      event.time = time;
      event.address = 0x01020304;
    }
  }

  static String[] uuids(int number, int salt) {
    final java.util.Random random = new java.util.Random(salt);
    final String[] made = new String[number];
    for (int i = 0; i < number; i++) {
      made[i] = new java.util.UUID(random.nextLong(), random.nextLong()).toString();
    }
    return made;
  }

  /** Events of texts. */
  public static final class Texts extends Source<TextEvent> {
    static final String[] USERS = uuids(100, 1), PAGES = uuids(100, 2), ADS = uuids(1000, 3), CAMPAIGNS = uuids(100, 4);
    static final String[] AD_TYPES = {"banner", "modal", "sponsored-search", "mail", "mobile"};
    static final String[] EVENT_TYPES = {"view", "click", "purchase"};

    Texts(long rows) {
      super(rows);
    }

    @Override
    TextEvent event() {
      return new TextEvent();
    }

    @Override
    void fill(TextEvent event, int word, int second, long time) {
      event.user = USERS[user(second)];
      event.page = PAGES[page(second)];
      event.ad = ADS[ad(word)];
      event.adType = AD_TYPES[adType(second)];
      event.eventType = EVENT_TYPES[eventType(word)];
      event.time = time;
      event.address = "1.2.3.4";
    }
  }
}
