#if NATS
  /// How many posts of each subject there was no room for.
  struct DroppedPosts {
    fileprivate var counts: [String: Int] = [:]
    /// Whether there were too many subjects to count: then all are counted anew.
    fileprivate var isAnew = false

    /// Adds posts of a subject.
    ///
    /// - Parameter limit: How many subjects are counted.
    mutating func add(_ subject: String, _ count: Int = 1, limit: Int) {
      if counts[subject] == nil, counts.count >= limit { (counts, isAnew) = ([:], true) }
      counts[subject, default: 0] += count
    }

    /// Adds posts that were dropped later.
    mutating func add(_ later: Self, limit: Int) {
      if later.isAnew { self = Self(isAnew: true) }
      for (subject, count) in later.counts { add(subject, count, limit: limit) }
    }
  }

  extension SentNumbers {
    /// Counts posts that were dropped, so that their numbers are missing.
    mutating func skip(_ dropped: DroppedPosts) {
      if dropped.isAnew { beginAnew() }
      for (subject, count) in dropped.counts { skip(subject, count) }
    }
  }
#endif
