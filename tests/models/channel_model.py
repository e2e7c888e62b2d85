"""What a channel does, in plain Python and one thread: the reference that the core is compared with."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

OK, AGAIN, STALE, CLOSED = 0, 1, -2, -5


@dataclass
class Entry:
    """One entry as the ring keeps it; `block` names what it lends, None: nothing."""

    serial: int
    nbytes: int
    block: int | None
    loan: tuple[int, int] | None  # (producer epoch, number)
    row: bool = False  # it is itself a row


@dataclass
class Producer:
    """Private memory of one sending end."""

    epoch: int
    lent: dict[tuple[int, int], int] = field(default_factory=dict)  # loan -> block
    wishes: set[str] = field(default_factory=set)
    sent: int = 0
    sent_bytes: int = 0
    peak: int = 0
    loans: int = 0


@dataclass
class Consumer:
    """Private memory of one receiving end."""

    epoch: int
    consumed: int = 0
    borrowed: int = 0
    closed: bool = False


class ChannelModel:
    """Indices are plain integers here, so that wrap-around in the core shows as a difference."""

    def __init__(self, slots: int, returns: int, budget: int, frontiers: int) -> None:
        self.slots, self.returns, self.budget = slots, returns, budget
        self.ring: deque[Entry] = deque()
        self.committed = self.consumed = 0
        self.returned: deque[tuple[int, int]] = deque()
        self.out = 0  # loans that are out, whoever lent them
        self.wish: set[str] = set()
        self.wished = 0
        self.frontiers = [-(2**63)] * frontiers
        self.closed = False
        self.producer = Producer(0)
        self.consumer = Consumer(0)
        self.rung_producer = self.rung_consumer = False

    def open_producer(self) -> Producer:
        """A successor rings: its predecessor may have died before it rang."""
        self.producer = Producer(self.producer.epoch + 1)
        self.rung_consumer |= self.producer.epoch > 1
        return self.producer

    def open_consumer(self) -> Consumer:
        self.closed = False
        self.consumer = Consumer(self.consumer.epoch + 1)
        self.rung_producer |= self.consumer.epoch > 1
        return self.consumer

    def weight(self) -> int:
        return sum(entry.nbytes for entry in self.ring)

    def fits(self, nbytes: int, behind: int = 0) -> bool:
        """Whether an entry would be admitted once `behind` more entries were consumed."""
        left = list(self.ring)[behind:]
        weight = sum(entry.nbytes for entry in left)
        return not left or (len(left) < self.slots and weight + nbytes <= self.budget)

    def admit(self, who: Producer, nbytes: int) -> int:
        if who is not self.producer:
            return STALE
        if self.closed:
            return CLOSED
        if self.fits(nbytes):
            return OK
        for more in range(1, len(self.ring) + 1):
            left = list(self.ring)[more:]
            half = len(left) <= self.slots // 2 and sum(entry.nbytes for entry in left) <= self.budget // 2
            if not left or (half and self.fits(nbytes, more)):
                self.wished = self.consumed + more
                break
        self.wish.add("credit")
        who.wishes.add("credit")
        return AGAIN

    def take_back(self, who: Producer, wish: str) -> None:
        if wish in who.wishes:
            who.wishes.discard(wish)
            self.wish.discard(wish)

    def admits(self, who: Producer, nbytes: int) -> int:
        status = self.admit(who, nbytes)
        if status == OK:
            self.take_back(who, "credit")
        return status

    def send(self, who: Producer, serial: int, nbytes: int, block: int | None) -> int:
        status = self.admit(who, nbytes)
        if status != OK:
            return status
        loan = None
        if block is not None:
            if self.out >= self.returns:
                self.reap(who)
            if self.out >= self.returns:
                self.await_returns(who)
                return AGAIN
            who.loans += 1
            loan = (who.epoch, who.loans)
            who.lent[loan] = block
            self.out += 1
        self.ring.append(Entry(serial, nbytes, block, loan))
        self.committed += 1
        who.sent += 1
        self.take_back(who, "credit")
        who.sent_bytes += nbytes
        who.peak = max(who.peak, self.weight())
        self.rung_consumer = True
        return OK

    def send_row(self, who: Producer, serial: int) -> int:
        """A row goes only into an empty ring, and weighs what an entry does."""
        if who is not self.producer:
            return STALE
        if self.closed:
            return CLOSED
        if self.ring:
            return AGAIN
        status = self.send(who, serial, 128, None)
        self.ring[-1].row = True
        return status

    def take_row(self, who: Consumer) -> Entry | int:
        if who is not self.consumer:
            return STALE
        if not self.ring or not self.ring[0].row:
            return AGAIN
        row = self.ring[0]
        self.consume(who, 1)
        return row

    def reap(self, who: Producer) -> int:
        if who is not self.producer or not self.returned:
            return 0
        count = 0
        for loan in self.returned:
            self.out -= 1
            count += who.lent.pop(loan, None) is not None
        self.returned.clear()
        self.take_back(who, "returns")
        return count

    def await_returns(self, who: Producer) -> int:
        if who is not self.producer:
            return STALE
        if self.returned:
            return OK
        self.wish.add("returns")
        who.wishes.add("returns")
        return CLOSED if self.closed else AGAIN

    def advance(self, who: Producer, word: int, value: int, ring: bool) -> None:
        if who is self.producer and word < len(self.frontiers) and value > self.frontiers[word]:
            self.frontiers[word] = value
            self.rung_consumer |= ring

    def peek(self, who: Consumer, ahead: int) -> Entry | int:
        if who is not self.consumer:
            return STALE
        return self.ring[ahead] if ahead < len(self.ring) else AGAIN

    def consume(self, who: Consumer, count: int) -> None:
        if who is not self.consumer or count == 0:
            return
        count = min(count, len(self.ring))
        for _ in range(count):
            self.ring.popleft()
        self.consumed += count
        who.consumed += count
        if "credit" in self.wish and self.consumed >= self.wished:
            self.wish.discard("credit")
            self.rung_producer = True

    def hand_back(self, who: Consumer, loan: tuple[int, int]) -> None:
        """Of a consumer that was taken over, nothing comes back; of a closed one it does, but rings nobody."""
        if who is self.consumer:
            self.returned.append(loan)
            if "returns" in self.wish:
                self.wish.discard("returns")
                self.rung_producer |= not who.closed

    def close_consumer(self, who: Consumer) -> None:
        if who is self.consumer:
            self.closed = True
            self.rung_producer = True
        who.closed = True
