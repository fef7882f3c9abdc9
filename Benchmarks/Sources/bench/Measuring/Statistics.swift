extension [Double] {
  /// The value below which `percent` of the values lie, between the two nearest where need be.
  func percentile(_ percent: Double) -> Double {
    precondition(!isEmpty, "A percentile was asked for of no values")
    let sorted = sorted()
    let position = percent / 100 * Double(count - 1)
    let below = Int(position)
    let above = Swift.min(below + 1, count - 1)
    return sorted[below] + (sorted[above] - sorted[below]) * (position - Double(below))
  }
}
