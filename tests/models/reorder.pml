/*
 * The non-blocking reordering buffer (actorstream/native/src/reorder_flag.c, reorder.h), step by step: WORKERS threads
 * take COUNT serial numbers and send a unit for each through SIZE slots. With REFUSING the exit function wants a credit
 * for each unit, which another thread gives, one after the other.
 *
 * Checked: units leave in serial order, once, by one thread at a time; a slot is free when a unit is put into it; at the
 * end nothing is left (a wake-up that got lost leaves a unit, or blocks the threads that wait for its slot: an invalid
 * end state).
 *
 * Mutations, each of which must fail: NO_SECOND_LOOK (after clearing the flag), BEYOND_WINDOW (a serial number is taken
 * before its slot is free), TEST_THEN_SET (the flag is looked at before it is set), LOST_FLUSH, RELEASE_STORE. Spin
 * interleaves single accesses, as if memory were sequentially consistent; RELEASE_STORE therefore models the store buffer
 * in which the flag's clearing may still lie while its thread looks at the slot again.
 */
#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef SIZE
#define SIZE 2
#endif
#ifndef COUNT
#define COUNT 4
#endif
#define slot_of(serial) slots[(serial) % SIZE]

byte slots[SIZE];  /* 1 + serial number of the unit, 0: none */
byte next, taken, left, inside, credit;
bool held, flushed;
#ifdef RELEASE_STORE
bool buffered[WORKERS + 2];  /* of each thread: its clearing of the flag has not reached memory */
#endif

/* Sets the flag, and `mark` if it is a flush. */
inline enter(mark, found) {
#ifdef TEST_THEN_SET
    found = held;
    held = true;
#else
#ifdef RELEASE_STORE
    !buffered[_pid]; /* a read-modify-write waits for what its own thread has buffered */
#endif
    atomic { found = held; held = true; flushed = flushed || mark }
#endif
}

inline leave(was) {
#ifdef RELEASE_STORE
    atomic { buffered[_pid] = true; was = false }
#else
    atomic { held = false; was = flushed; flushed = false }
#endif
}

/* Sends what is ready; `bits`: true for a flush. */
inline visit(bits) {
    atomic { mark = bits; again = true }
    do
    :: !again -> break
    :: again ->
        again = false;
        enter(mark, found);
        if
        :: found -> break
        :: else
        fi;
        atomic { mark = false; refused = false; inside++; assert(inside == 1) }
        do
        :: slot_of(next) == 0 -> break
        :: slot_of(next) != 0 ->
            atomic { assert(slot_of(next) == next + 1 && next == left) }
#ifdef REFUSING
            if
            :: credit == 0 -> refused = true; break
            :: credit > 0 -> credit--
            fi;
#endif
            atomic { left++; slot_of(next) = 0 }
            next++
        od;
        atomic { last = next; inside-- }
        leave(was);
        if
#ifndef LOST_FLUSH
        :: refused && was -> again = true
#endif
#ifndef NO_SECOND_LOOK
        :: !refused && slot_of(last) != 0 -> again = true
#endif
        :: else
        fi
    od
}

proctype worker() {
    byte serial, last;
    bool found, was, refused, again, mark;
    do
    :: atomic {
#ifdef BEYOND_WINDOW
        taken < COUNT ->
#else
        taken < COUNT && taken < next + SIZE ->
#endif
        serial = taken;
        taken++ }
        assert(slot_of(serial) == 0);
        slot_of(serial) = serial + 1;
        visit(false)
    :: taken == COUNT -> break
    od
}

#ifdef REFUSING
proctype giver() {
    byte given, last;
    bool found, was, refused, again, mark;
    do
    :: given == COUNT -> break
    :: given < COUNT ->
        atomic { credit == 0; credit++; given++ }
        visit(true)
    od
}
#endif

#ifdef RELEASE_STORE
active proctype memory() {
    byte i;
end:
    do
    :: atomic { buffered[i] -> buffered[i] = false; held = false }
    :: i < WORKERS + 1 -> i++
    :: i > 0 -> i--
    od
}
#define HELPERS 2
#else
#define HELPERS 1
#endif

init {
    byte i;
    atomic {
        for (i : 1 .. WORKERS) { run worker() }
#ifdef REFUSING
        run giver()
#endif
    }
    _nr_pr == HELPERS;
    assert(next == COUNT && left == COUNT)
}
