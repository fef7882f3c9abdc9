#if Page
  import Campanile

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// The rows that pages show of a trace: the top of each table, or of what fits a search.
  struct PageRows: Sendable {
    /// The greatest number of rows of a table, and of posts.
    static let rowLimit = 100

    let trace: Trace
    /// The words that each row has to contain, in lower case.
    let words: [String]
    private let growth = RegistrationGrowth()

    init(_ trace: Trace, search: String = "") {
      self.trace = trace
      words = search.lowercased().split(separator: " ").map(String.init)
    }

    /// The functions that make the sections of the page, each apart, so that none waits for another one.
    var sections: [(name: String, make: @Sendable () -> [PageSection])] {
      [
        ("stuck", { stuck }), ("types", { types }), ("observers", { observers }),
        ("registrations", { registrations }), ("posts", { posts }), ("graph", { graph }),
      ]
    }

    private func table<Element, Row: Encodable>(
      _ name: String, _ all: some Collection<Element>, count: Int? = nil,
      _ makeRow: (Element) -> Row, _ text: (Row) -> String
    ) -> [PageSection] {
      var rows: [Row] = []
      for element in all where rows.count < Self.rowLimit {
        let row = makeRow(element)
        let text = words.isEmpty ? "" : text(row).lowercased()
        if words.allSatisfy({ text.contains($0) }) { rows.append(row) }
      }
      let table = PageTable(rows: rows, leftOut: (count ?? all.count) - rows.count)
      return [PageSection(name, table)]
    }

    /// A table whose rows have a text or a number under each name.
    private func table<Element>(
      _ name: String, _ all: some Collection<Element>, count: Int? = nil,
      _ makeRow: (Element) -> PageRow
    ) -> [PageSection] {
      table(name, all, count: count, makeRow) { row in
        row.values.map { if case .text(let text) = $0 { text } else { "" } }.joined(separator: " ")
      }
    }

    /// The counts of types, and the sums of all counts.
    var types: [PageSection] {
      let totals = trace.totals
      let counts: [(String, (TypeTotals) -> Int)] = [
        ("posts", \.postCount), ("calls", \.callCount), ("dropped", \.droppedCount),
        ("skipped", \.skippedCount), ("failed", \.failureCount),
      ]
      let sums = counts.map { name, count in (name, totals.reduce(0) { $0 + count($1) }) }
      return [PageSection("sums", Dictionary(uniqueKeysWithValues: sums))]
        + table("types", totals, \.pageRow)
    }

    /// The calls in progress that are worth a look.
    var stuck: [PageSection] {
      let calls = trace.callsInProgress(in: trace.storage.current)
      return table("stuck", calls.filter { $0.age >= CallInProgress.shown }, \.pageRow)
    }

    var observers: [PageSection] {
      let count = trace.storage.current.places.count(where: \.isCounted)
      return table(
        "observers", trace.slowest(words.isEmpty ? Self.rowLimit : count), count: count, \.pageRow)
    }

    /// The registrations, those of lines whose count only grows first.
    var registrations: [PageSection] {
      let rows = RegistrationRow.rows(trace)
      let first = growth.first(words.isEmpty ? Self.rowLimit : rows.count, of: rows)
      return table("registrations", first, count: rows.count, \.self, \.key)
    }

    /// The graph of posters and observers.
    var graph: [PageSection] {
      let state = trace.storage.current
      let graph = TraceGraph(state.ring.records, state) { trace.storage.callers?.knownCallers($0) }
      return [PageSection("graph", PageGraph(graph))]
    }

    /// The last posts, oldest first; the page itself searches their trees.
    var posts: [PageSection] {
      let rows = TracedPosts(last: Self.rowLimit, trace.storage).all.map { PostRow($0) }
      return [PageSection("posts", PageTable(rows: rows, leftOut: 0))]
    }
  }

  /// A row of a table, by the names that the page's script has for its cells; times in nanoseconds.
  typealias PageRow = [String: TraceEntry.Argument]

  /// The graph of who posts to whom, with the column and the row of each node.
  struct PageGraph: Codable {
    struct Node: Codable {
      let kind, name: String
      let column, row: Int
    }

    /// The greatest number of nodes that are drawn one by one.
    static let nodeLimit = 60
    let nodes: [Node]
    let edges: [TraceGraph.Edge]

    init(_ whole: TraceGraph) {
      let graph = whole.nodes.count > Self.nodeLimit ? whole.byModule : whole
      var lengths: [Int: Int] = [:]
      nodes = zip(graph.nodes, graph.columns).map { node, column in
        defer { lengths[column, default: 0] += 1 }
        return Node(
          kind: node.kind.rawValue, name: node.name, column: column, row: lengths[column] ?? 0)
      }
      edges = graph.edges
    }
  }

  /// The rows that are shown of a table.
  struct PageTable<Row: Encodable>: Encodable {
    let rows: [Row]
    /// The number of rows that are not shown.
    let leftOut: Int
  }

  extension PageSection {
    init(_ name: String, _ content: some Encodable) {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      let json = (try? encoder.encode(content)) ?? Data("null".utf8)
      self.init(name: name, json: String(decoding: json, as: UTF8.self))
    }
  }

  extension TypeTotals {
    fileprivate var pageRow: PageRow {
      // The number tells sources of one name apart.
      [
        "type": .text("\(valueType)"), "source": .text(source),
        "sourceNumber": .number(sourceNumber), "posts": .number(UInt64(postCount)),
        "calls": .number(UInt64(callCount)), "dropped": .number(UInt64(droppedCount)),
        "skipped": .number(UInt64(skippedCount)), "failed": .number(UInt64(failureCount)),
      ]
    }
  }

  extension ObserverTime {
    fileprivate var pageRow: PageRow {
      [
        "place": .text("\(file):\(line)"), "owner": .text(ownerType.map { "\($0)" } ?? ""),
        "delivery": .text(delivery), "calls": .number(UInt64(callCount)),
        "own": .number(own.nanoseconds),
        "mean": .number(mean.nanoseconds), "worst": .number(worst.nanoseconds),
        "waited": .number(longestWait.nanoseconds), "dropped": .number(UInt64(droppedCount)),
        "skipped": .number(UInt64(skippedCount)), "failed": .number(UInt64(failureCount)),
      ]
    }
  }

  extension CallInProgress {
    fileprivate var pageRow: PageRow {
      [
        "place": .text("\(file):\(line)"), "owner": .text(ownerType.map { "\($0)" } ?? ""),
        "delivery": .text(delivery), "type": .text("\(valueType)"),
        "thread": .text("\(threadName) \(thread)"), "age": .number(age.nanoseconds),
        "behind": .number(UInt64(waitingCount)), "waits": .number(isWaiting ? 1 : 0),
      ]
    }
  }

  /// A post, with the calls that it made.
  struct PostRow: Codable, Equatable {
    struct Call: Codable, Equatable {
      let place: String
      let waited: UInt64
      let took: UInt64?
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
      (number, parent, source) = (post.number, post.parent, post.source)
      type = post.name ?? "\(post.valueType)"
      value = post.value.map { String($0.prefix(200)) }
      place = post.knownCallers == nil ? "…" : post.callers.first?.description
      calls = post.calls.prefix(50).map { call in
        Call(
          place: "\(call.file):\(call.line)", waited: call.waited.nanoseconds,
          took: call.took?.nanoseconds)
      }
      leftOut = post.calls.count - calls.count
    }
  }

  extension Duration {
    fileprivate var nanoseconds: UInt64 { UInt64(max(self, .zero) / .nanoseconds(1)) }
  }
#endif
