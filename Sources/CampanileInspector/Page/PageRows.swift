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

    /// The tables.
    static func tables(_ trace: Trace) -> [PageSection] {
      [
        PageSection("types", trace.totals.prefix(rowLimit).map(TypeRow.init)),
        PageSection("observers", trace.slowest(rowLimit).map(ObserverRow.init)),
        PageSection("registrations", RegistrationRow.rows(trace)),
      ].compactMap(\.self)
    }

    /// The last posts.
    ///
    /// For a new call stack, finding out where a post was made takes long.
    static func posts(_ trace: Trace) -> [PageSection] {
      [PageSection("posts", trace.posts.suffix(postLimit).map(PostRow.init))].compactMap(\.self)
    }
  }

  extension PageSection {
    fileprivate init?(_ name: String, _ rows: [some Encodable]) {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      guard let json = try? encoder.encode(rows) else { return nil }
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

    init(_ post: TracedPost) {
      number = post.number
      parent = post.parent
      source = post.source
      type = "\(post.valueType)"
      value = post.value.map { String($0.prefix(200)) }
      place = post.callers.first?.description
      calls = post.calls.prefix(50).map { call in
        Call(
          place: "\(call.file):\(call.line)", waited: call.waited.microseconds,
          took: call.took?.microseconds)
      }
    }
  }

  extension Duration {
    /// The duration in microseconds, to a tenth.
    fileprivate var microseconds: Double { (self / .nanoseconds(100)).rounded() / 10 }
  }
#endif
