import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Pre-aggregation by hand: counts rows by key (0 to 99) and pane in an array, and sends the counts on when the pane is
 * over, with an event time within the pane. Rows of a pane come together, as the generator makes them.
 */
public final class LocalCount extends AbstractStreamOperator<Tuple2<Integer, Long>>
    implements OneInputStreamOperator<Tuple2<Integer, Long>, Tuple2<Integer, Long>> {
  private final long size;
  private final long[] counts = new long[100];
  private long begin = Long.MIN_VALUE;

  public LocalCount(long size) {
    this.size = size;
  }

  @Override
  public void processElement(StreamRecord<Tuple2<Integer, Long>> record) {
    final long time = record.getTimestamp();
    if (time >= begin + size || time < begin) {
      flush();
      begin = time - time % size;
    }
    counts[record.getValue().f0] += record.getValue().f1;
  }

  @Override
  public void processWatermark(Watermark mark) throws Exception {
    if (mark.getTimestamp() >= begin + size - 1) {
      flush();
    }
    super.processWatermark(mark);
  }

  @Override
  public void finish() {
    flush();
  }

  private void flush() {
    for (int key = 0; key < counts.length; key++) {
      if (counts[key] != 0) {
        output.collect(new StreamRecord<>(Tuple2.of(key, counts[key]), begin + size - 1));
        counts[key] = 0;
      }
    }
  }
}
