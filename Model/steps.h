/*
 * Steps that the search leaves out or moves, one at a time, to see that a fault is found then. The name of
 * each step is 1 in that search, and 0 in all others. At the end, what several models use besides.
 */

/* Statements that are left out. */
#define step(fault, ...) STEP(fault, __VA_ARGS__)
#define STEP(fault, ...) STEP_##fault(__VA_ARGS__)
#define STEP_0(...) __VA_ARGS__
#define STEP_1(...) skip

/* Statements that are only there then, with the semicolon behind them. */
#define moved(fault, ...) MOVED(fault, __VA_ARGS__)
#define MOVED(fault, ...) MOVED_##fault(__VA_ARGS__)
#define MOVED_0(...)
#define MOVED_1(...) __VA_ARGS__

/* Two statements, which change places. */
#define inOrder(fault, first, second) IN_ORDER(fault, first, second)
#define IN_ORDER(fault, first, second) IN_ORDER_##fault(first, second)
#define IN_ORDER_0(first, second) first; second
#define IN_ORDER_1(first, second) second; first

#define when(condition, ...) if :: condition -> __VA_ARGS__ :: else fi
#define each(n, count) for (n : 0 .. (count) - 1)

/* Sets of small numbers: a bit for each. */
#define has(set, x) ((set) & (1 << (x)))
#define add(set, x) set = set | 1 << (x)
#define drop(set, x) set = set & ~(1 << (x))

/* All of a channel goes to the end of another. */
#define move(from, to) do :: from ? message -> to ! message :: empty(from) -> break od
