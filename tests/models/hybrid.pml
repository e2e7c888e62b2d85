/*
 * The hybrid worklist (actorstream/native/src/worklist_hybrid.c, partition_queues.h, positions.h), step by step: one
 * thread pushes COUNT items into partitions that it picks freely, WORKERS threads take them, none beyond the window of
 * a reordering buffer of WINDOW slots behind them. The stock has CAPACITY nodes and one for each partition.
 *
 * Checked: at most one worker is in a partition; its items come in the order of their pushes, each once; who owns a
 * partition finds an item in its queue; all nodes come back; nobody is blocked for good (an invalid end state).
 *
 * Mutations, each of which must fail: MASTER_FIRST (the partition enters the master queue before the item its queue),
 * TORN_COUNTER (the counter is read and then written), EARLY_LEAVE (the counter is lowered before the item is
 * finished), NO_DELEGATION (a worker who finds the partition busy works on it all the same).
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef COUNT
#define COUNT 4
#endif
#define PARTITIONS 2
#ifndef CAPACITY
#define CAPACITY 2
#endif
#ifndef WINDOW
#define WINDOW 2
#endif
#define NODES (CAPACITY + PARTITIONS)

byte master[COUNT];            /* of each position: its partition */
byte pushed, taken;            /* positions */
byte link[NODES];              /* 1 + index of the next node; 0: none */
byte item[NODES];
byte head[PARTITIONS], tail[PARTITIONS], counter[PARTITIONS];
byte hoard, spare;             /* 1 + index of a node */
byte inside[PARTITIONS], newest[PARTITIONS];
bool finished[COUNT + 1];
byte oldest, handed;           /* the first item that is not finished; items handed out */

inline take_node(index) {
    do
    :: hoard != 0 -> break
    :: hoard == 0 ->
        spare != 0;  /* full: the pusher comes again */
        d_step { hoard = spare; spare = 0 }
    od;
    index = hoard - 1;
    hoard = link[index]
}

proctype pusher() {
    byte part, index;
    do
    :: pushed == COUNT -> break
    :: pushed < COUNT ->
        if
        :: part = 0
        :: part = 1
        fi;
        take_node(index);
#ifdef MASTER_FIRST
        master[pushed] = part;
        pushed++;
        item[index] = pushed - 1;
#else
        item[index] = pushed;
#endif
        link[index] = 0;
        link[tail[part]] = index + 1;
        tail[part] = index;
#ifndef MASTER_FIRST
        master[pushed] = part;
        pushed++
#endif
    od
}

inline lower(was) {
#ifdef TORN_COUNTER
    was = counter[part];
    counter[part] = was - 1
#else
    d_step { was = counter[part]; counter[part]-- }
#endif
}

/* Owner of partition `part`: takes the first item, works on it, gives the spent node back. */
inline work(part) {
    first = link[head[part]];
    assert(first != 0);
    spent = head[part];
    got = item[first - 1];
    head[part] = first - 1;
    do
    :: top = spare;
        link[spent] = top;
        atomic {
            if
            :: spare == top -> spare = spent + 1; handed++; break
            :: else
            fi
        }
    od;
#ifdef EARLY_LEAVE
    lower(old);
#endif
    atomic { inside[part]++; assert(inside[part] == 1) }
    atomic { assert(got + 1 > newest[part]); newest[part] = got + 1; inside[part]-- }
    d_step {
        assert(!finished[got]);
        finished[got] = true;
        do
        :: finished[oldest] -> oldest++
        :: else -> break
        od
    }
}

proctype worker() {
    byte part, old, first, spent, got, top;
    do
    :: atomic { taken < pushed && taken < oldest + WINDOW -> part = master[taken]; taken++ }
#ifdef TORN_COUNTER
        old = counter[part];
        counter[part] = old + 1;
#else
        d_step { old = counter[part]; counter[part]++ }
#endif
        if
#ifdef NO_DELEGATION
        :: false
        :: true ->
#else
        :: old > 0
        :: old == 0 ->
#endif
            do
            :: work(part);
#ifndef EARLY_LEAVE
                lower(old);
#endif
                if
                :: old > 1
                :: old == 1 -> break
                fi
            od
        fi
    :: taken == COUNT -> break
    od
}

init {
    byte i;
    d_step {
        for (i : 0 .. PARTITIONS - 1) { head[i] = i; tail[i] = i }
        for (i : PARTITIONS .. NODES - 1) { link[i] = (i + 1 < NODES -> i + 2 : 0) }
        hoard = PARTITIONS + 1
    }
    atomic {
        run pusher();
        for (i : 1 .. WORKERS) { run worker() }
    }
    _nr_pr == 1;
    assert(handed == COUNT && oldest == COUNT && counter[0] == 0 && counter[1] == 0)
}
