extension String.StringInterpolation {
  /// A number with commas between the thousands.
  mutating func appendInterpolation(number: Int) {
    if number >= 1_000 {
      appendInterpolation(number: number / 1_000)
      let rest = String(number % 1_000)
      appendLiteral("," + String(repeating: "0", count: 3 - rest.count) + rest)
    } else {
      appendLiteral(String(number))
    }
  }

  /// So many of something, which takes an s where it is not one.
  mutating func appendInterpolation(_ number: Int, _ noun: String) {
    appendInterpolation(number: number)
    appendLiteral(" " + noun + (number == 1 ? "" : "s"))
  }
}
