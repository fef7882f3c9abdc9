/// Every case, in the order of the table.
enum AllCases {
  static func make(isQuick: Bool) -> [Case] {
    Posting.cases + Observing.cases + MassCancelling.cases + Types.cases + Subjects.cases
      + Memory.cases(isQuick: isQuick) + TwoThreads.cases
  }
}
