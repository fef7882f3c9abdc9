/// Every case, in the order of the table.
enum AllCases {
  static func make(isQuick: Bool) -> [Case] {
    Posting.cases
  }
}
