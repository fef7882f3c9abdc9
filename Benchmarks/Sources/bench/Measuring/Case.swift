/// Something to be measured: Campanile's way of doing it, and the ways of its rivals.
struct Case {
  /// A short sentence that says what is done.
  let name: String
  /// The first is Campanile.
  var contenders: [Contender]
  var kind = Kind.time
  /// How many operations one iteration of a contender is, for instance deliveries to a post.
  var operationsPerIteration = 1
  /// How often each batch iterates, where that is not to be chosen by the clock.
  var fixedCount: Int?
  /// How often each batch iterates at least, where beginning one takes a while.
  var minimalCount = 1
  /// The most rounds that are worth their time, for cases with a long preparation in each.
  var maximalRounds = Int.max
  /// Remarks for the table, made of what the contenders' medians say.
  var notes: [Note] = []
  /// One more remark, made of our nanoseconds once everything is measured.
  var remark: ((Double) -> String)?

  enum Kind {
    /// Nanoseconds per operation.
    case time
    /// Percentiles of single samples, a row for each.
    case percentiles([Double])
    /// Nanoseconds, blocks and live bytes per thing built, without the bytes that the contender of
    /// this name needs for each.
    case memory(beyond: String)
  }

  /// The time of one contender over that of another, in words.
  struct Note {
    let text: String
    let numerator: String
    let denominator: String
  }
}

/// One way of doing what a case is about.
struct Contender {
  let name: String
  /// Makes everything that is not to be measured, and returns what is.
  let prepare: () -> Workload

  init(_ name: String, prepare: @escaping () -> Workload) {
    self.name = name
    self.prepare = prepare
  }

  static let ours = "Campanile"
}

/// What a contender does in each round.
enum Workload {
  /// Iterates so many times, and is timed from outside.
  case loop((Int) -> Void)
  /// Iterates so many times, and returns the nanoseconds that count.
  case timed((Int) -> Double)
  /// Takes so many samples.
  case samples((Int) -> [Double])
  /// Builds so many things, and returns what keeps them.
  case build((Int) -> Any)
}
