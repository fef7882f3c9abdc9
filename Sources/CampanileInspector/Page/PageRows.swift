#if Page
  import Campanile

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// The rows that pages show of a trace.
  enum PageRows {
    /// The greatest number of rows of a table, and of posts.
    static let rowLimit = 500
    static let postLimit = 100

    /// The tables, and the sums of all counts.
    static func tables(_ trace: Trace) -> [PageSection] {
      let totals = trace.totals
      let types = PageTable(totals.prefix(rowLimit), of: totals.count, TypeRow.init)
      let times = trace.slowest(.max)
      let observers = PageTable(times.prefix(rowLimit), of: times.count, ObserverRow.init)
      let rows = RegistrationRow.rows(trace)
      let registrations = PageTable(rows.prefix(rowLimit), of: rows.count, \.self)
      return [
        PageSection("sums", CountSums(totals)), PageSection("types", types),
        PageSection("observers", observers), PageSection("registrations", registrations),
      ].compactMap(\.self)
    }

    /// The last posts.
    ///
    /// For a new call stack, finding out where a post was made takes long.
    static func posts(_ trace: Trace) -> [PageSection] {
      let posts = trace.posts
      let table = PageTable(posts.suffix(postLimit), of: posts.count, PostRow.init)
      return [PageSection("posts", table)].compactMap(\.self)
    }
  }

  /// The rows that are shown of a table.
  struct PageTable<Row: Codable>: Codable {
    let rows: [Row]
    /// The number of rows that are not shown.
    let leftOut: Int

    init<Shown: Collection>(
      _ shown: Shown, of count: Int, _ makeRow: (Shown.Element) -> Row
    ) {
      rows = shown.map(makeRow)
      leftOut = count - shown.count
    }
  }

  /// The sums of the counts of all types, including those whose rows are not shown.
  struct CountSums: Codable, Equatable {
    var posts = 0
    var calls = 0
    var dropped = 0
    var skipped = 0
    var failed = 0

    init(_ totals: some Sequence<TypeTotals>) {
      for total in totals {
        posts += total.postCount
        calls += total.callCount
        dropped += total.droppedCount
        skipped += total.skippedCount
        failed += total.failureCount
      }
    }
  }

  extension PageSection {
    fileprivate init?(_ name: String, _ content: some Encodable) {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      guard let json = try? encoder.encode(content) else { return nil }
      self.init(name: name, json: json)
    }
  }

  /// The counts of one type at one source.
  struct TypeRow: Codable, Equatable {
    let source: String
    /// Tells sources of one name apart.
    let sourceNumber: UInt64
    let type: String
    let posts: Int
    let calls: Int
    let dropped: Int
    let skipped: Int
    let failed: Int

    init(_ totals: TypeTotals) {
      source = totals.source
      sourceNumber = totals.sourceNumber
      type = "\(totals.valueType)"
      posts = totals.postCount
      calls = totals.callCount
      dropped = totals.droppedCount
      skipped = totals.skippedCount
      failed = totals.failureCount
    }
  }

  /// The observers that were registered at one line, with their times in microseconds.
  struct ObserverRow: Codable, Equatable {
    let place: String
    let owner: String?
    let delivery: String
    let calls: Int
    let own: Double
    let mean: Double
    let worst: Double
    let waited: Double
    let dropped: Int
    let skipped: Int
    let failed: Int

    init(_ time: ObserverTime) {
      place = "\(time.file):\(time.line)"
      owner = time.ownerType.map { "\($0)" }
      delivery = time.delivery
      calls = time.callCount
      own = time.own.microseconds
      mean = time.mean.microseconds
      worst = time.worst.microseconds
      waited = time.longestWait.microseconds
      dropped = time.droppedCount
      skipped = time.skippedCount
      failed = time.failureCount
    }
  }

  /// A post, with the calls that it made.
  struct PostRow: Codable, Equatable {
    struct Call: Codable, Equatable {
      let place: String
      let waited: Double
      let took: Double?
    }

    let number: UInt64
    let parent: UInt64?
    let source: String
    let type: String
    let value: String?
    let place: String?
    let calls: [Call]
    /// The number of calls that are not shown.
    let leftOut: Int

    init(_ post: TracedPost) {
      number = post.number
      parent = post.parent
      source = post.source
      type = post.name ?? "\(post.valueType)"
      value = post.value.map { String($0.prefix(200)) }
      place = post.callers.first?.description
      calls = post.calls.prefix(50).map { call in
        Call(
          place: "\(call.file):\(call.line)", waited: call.waited.microseconds,
          took: call.took?.microseconds)
      }
      leftOut = post.calls.count - calls.count
    }
  }

  extension Duration {
    /// The duration in microseconds, to a tenth.
    fileprivate var microseconds: Double { (self / .nanoseconds(100)).rounded() / 10 }
  }
#endif
