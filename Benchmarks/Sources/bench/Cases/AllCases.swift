/// Every case, in the order of the table.
enum AllCases {
  static var all: [Case] {
    Posting.cases + Following.cases + Observing.cases + MassCanceling.cases + Types.cases
      + Subjects.cases + Memory.cases + TwoThreads.cases + Queued.cases + Latency.cases
      + Notifications.cases + KeyValue.cases + Tracing.cases + Relaying.cases
  }
}
