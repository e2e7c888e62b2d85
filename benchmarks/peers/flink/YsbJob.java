import java.time.Duration;
import java.util.HashMap;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/**
 * The Yahoo benchmark as plain DataStream jobs: object reuse, no checkpoints, everything up to keyBy chained.
 *
 * <p>YsbJob WORKLOAD PARALLELISM ROWS, with the workloads ysb, ysb-preaggregated, ysb-strings, ysb-star,
 * ysb-star-preaggregated, swa, swa-preaggregated. Prints {"value": events a second}: the slope between a short and a long
 * job in one JVM, after a short one that is not counted. With ROWS "check" prints the sum of all counts of 3 million
 * rows, and how many results there were.
 */
public final class YsbJob {
  static final int ADS_A_CAMPAIGN = 10, VIEW = 0, CLICK = 1;
  static final TypeInformation<Tuple2<Integer, Long>> COUNTED = TypeInformation.of(new TypeHint<Tuple2<Integer, Long>>() {});
  static final java.util.concurrent.atomic.AtomicLong SUM = new java.util.concurrent.atomic.AtomicLong();
  static final java.util.concurrent.atomic.AtomicLong RESULTS = new java.util.concurrent.atomic.AtomicLong();
  static boolean checking;

  private YsbJob() {}

  /** Adds up the second field. */
  public static final class Sum<K> implements AggregateFunction<Tuple2<K, Long>, Long, Long> {
    @Override
    public Long createAccumulator() {
      return 0L;
    }

    @Override
    public Long add(Tuple2<K, Long> value, Long sum) {
      return sum + value.f1;
    }

    @Override
    public Long getResult(Long sum) {
      return sum;
    }

    @Override
    public Long merge(Long left, Long right) {
      return left + right;
    }
  }

  /** (key, window start, count). */
  public static final class Result<K> extends ProcessWindowFunction<Long, Tuple3<K, Long, Long>, K, TimeWindow> {
    @Override
    public void process(K key, Context context, Iterable<Long> counts, Collector<Tuple3<K, Long, Long>> out) {
      out.collect(Tuple3.of(key, context.window().getStart(), counts.iterator().next()));
    }
  }

  static WindowAssigner<Object, TimeWindow> tumbling() {
    return TumblingEventTimeWindows.of(Duration.ofSeconds(10));
  }

  static WindowAssigner<Object, TimeWindow> sliding() {
    return SlidingEventTimeWindows.of(Duration.ofSeconds(10), Duration.ofSeconds(1));
  }

  static DataStream<Tuple3<Integer, Long, Long>> counts(
      DataStream<Tuple2<Integer, Long>> keyed, WindowAssigner<Object, TimeWindow> windows) {
    return keyed.keyBy(row -> row.f0).window(windows).aggregate(
        new Sum<>(), new Result<>(), TypeInformation.of(Long.class), TypeInformation.of(Long.class),
        TypeInformation.of(new TypeHint<Tuple3<Integer, Long, Long>>() {}));
  }

  /** Events of one type as (campaign, 1); each row is the same object, which object reuse allows. */
  static DataStream<Tuple2<Integer, Long>> campaigns(DataStream<YsbEvents.Event> events, int type, boolean local) {
    final DataStream<Tuple2<Integer, Long>> rows =
        events.filter(event -> event.eventType == type).map(new Campaign()).returns(COUNTED);
    return local ? rows.transform("local", COUNTED, new LocalCount(10_000)) : rows;
  }

  /** Looks the campaign of an ad up. */
  public static final class Campaign implements MapFunction<YsbEvents.Event, Tuple2<Integer, Long>> {
    private final int[] table = new int[1000];
    private final Tuple2<Integer, Long> row = Tuple2.of(0, 1L);

    public Campaign() {
      for (int ad = 0; ad < table.length; ad++) {
        table[ad] = ad / ADS_A_CAMPAIGN;
      }
    }

    @Override
    public Tuple2<Integer, Long> map(YsbEvents.Event event) {
      row.f0 = table[event.ad];
      return row;
    }
  }

  /** The user of an event. */
  public static final class User implements MapFunction<YsbEvents.Event, Tuple2<Integer, Long>> {
    private final Tuple2<Integer, Long> row = Tuple2.of(0, 1L);

    @Override
    public Tuple2<Integer, Long> map(YsbEvents.Event event) {
      row.f0 = event.user;
      return row;
    }
  }

  /** Looks the campaign of an ad up, both texts. */
  public static final class TextCampaign implements MapFunction<YsbEvents.TextEvent, Tuple2<String, Long>> {
    private final HashMap<String, String> table = new HashMap<>();
    private final Tuple2<String, Long> row = Tuple2.of("", 1L);

    public TextCampaign() {
      for (int ad = 0; ad < 1000; ad++) {
        table.put(YsbEvents.Texts.ADS[ad], YsbEvents.Texts.CAMPAIGNS[ad / ADS_A_CAMPAIGN]);
      }
    }

    @Override
    public Tuple2<String, Long> map(YsbEvents.TextEvent event) {
      row.f0 = table.get(event.ad);
      return row;
    }
  }

  static void ysb(StreamExecutionEnvironment environment, long rows, boolean local) {
    finish(counts(campaigns(environment.addSource(new YsbEvents.Integers(rows)), VIEW, local), tumbling()));
  }

  static void strings(StreamExecutionEnvironment environment, long rows) {
    finish(environment.addSource(new YsbEvents.Texts(rows))
        .filter(event -> event.eventType.equals("view"))
        .map(new TextCampaign()).returns(new TypeHint<Tuple2<String, Long>>() {})
        .keyBy(row -> row.f0).window(tumbling())
        .aggregate(new Sum<>(), new Result<>(), TypeInformation.of(Long.class), TypeInformation.of(Long.class),
            TypeInformation.of(new TypeHint<Tuple3<String, Long, Long>>() {})));
  }

  static void star(StreamExecutionEnvironment environment, long rows, boolean local) {
    final DataStream<YsbEvents.Event> events = environment.addSource(new YsbEvents.Integers(rows));
    final DataStream<Tuple3<Integer, Long, Long>> views = counts(campaigns(events, VIEW, local), tumbling());
    final DataStream<Tuple3<Integer, Long, Long>> clicks = counts(campaigns(events, CLICK, local), tumbling());
    finish(views.join(clicks).where(row -> row.f0).equalTo(row -> row.f0)
        .window(TumblingEventTimeWindows.of(Duration.ofSeconds(10)))
        .apply((view, click) -> Tuple4.of(view.f0, view.f1, view.f2 + click.f2, (double) click.f2 / view.f2),
            TypeInformation.of(new TypeHint<Tuple4<Integer, Long, Long, Double>>() {}))
        .map(row -> Tuple3.of(row.f0, row.f1, row.f2))
        .returns(new TypeHint<Tuple3<Integer, Long, Long>>() {}));
  }

  static void swa(StreamExecutionEnvironment environment, long rows, boolean local) {
    DataStream<Tuple2<Integer, Long>> users =
        environment.addSource(new YsbEvents.Integers(rows)).map(new User()).returns(COUNTED);
    finish(counts(local ? users.transform("local", COUNTED, new LocalCount(1_000)) : users, sliding()));
  }

  static <K> void finish(DataStream<Tuple3<K, Long, Long>> results) {
    if (checking) {
      results.filter(row -> {
        SUM.addAndGet(row.f2);
        RESULTS.incrementAndGet();
        return true;
      }).sinkTo(new DiscardingSink<>());
    } else {
      results.sinkTo(new DiscardingSink<>());
    }
  }

  /** Seconds that a job takes from its start to its end, as Flink says. */
  static double seconds(String workload, int parallelism, long rows) throws Exception {
    final StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.createLocalEnvironment(parallelism, new Configuration());
    environment.getConfig().enableObjectReuse();
    final boolean local = workload.endsWith("-preaggregated");
    switch (workload.replace("-preaggregated", "")) {
      case "ysb" -> ysb(environment, rows, local);
      case "ysb-strings" -> strings(environment, rows);
      case "ysb-star" -> star(environment, rows, local);
      case "swa" -> swa(environment, rows, local);
      default -> throw new IllegalArgumentException("no workload " + workload);
    }
    return environment.execute(workload).getNetRuntime() / 1000.0;
  }

  public static void main(String[] arguments) throws Exception {
    final String workload = arguments[0];
    final int parallelism = Integer.parseInt(arguments[1]);
    checking = arguments[2].equals("check");
    if (checking) {
      seconds(workload, parallelism, 3_000_000);
      System.out.println("{\"sum\": " + SUM.get() + ", \"results\": " + RESULTS.get() + "}");
      return;
    }
    final long rows = Long.parseLong(arguments[2]), few = rows / 4;
    seconds(workload, parallelism, few);
    final double shorter = seconds(workload, parallelism, few), longer = seconds(workload, parallelism, rows);
    System.out.println("{\"value\": " + (rows - few) / (longer - shorter) + "}");
  }
}
