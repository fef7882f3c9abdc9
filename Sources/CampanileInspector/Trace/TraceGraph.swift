import Campanile

/// The graph of posters and observers, as far as a trace has seen it.
///
/// Printed, it is a graph in the DOT language, which Graphviz draws. What is part of a loop, such as
/// two observers that post to each other, is red.
public struct TraceGraph: Sendable, CustomStringConvertible {
  /// A function that posts, a type that is posted, or the observers of one line with one delivery.
  public struct Node: Sendable, Hashable {
    /// The meaning of a node.
    public enum Kind: String, Sendable, Hashable {
      /// A function that posts.
      case function
      /// A type that is posted.
      case type
      /// The observers of one line with one delivery.
      case observer
      /// All nodes of a module, if there are too many.
      case module
    }

    /// The meaning of the node.
    public let kind: Kind
    /// The function, the type, or the line and the owner.
    public let name: String
    /// The module, as far as it is known.
    public let module: String
  }

  /// Posts of a function or an observer, or calls of an observer.
  public struct Edge: Sendable, Codable {
    /// The indices of what posts and the type, or of the type and the observer.
    public let from, to: Int
    /// The number of posts or calls that the trace has kept.
    public internal(set) var count: Int
    /// How many there were in a second.
    public internal(set) var perSecond = 0.0
    /// Whether what it leads to leads back.
    public internal(set) var isInLoop = false
  }

  /// The nodes, in the order in which they were seen.
  public private(set) var nodes: [Node] = []
  /// The edges, in the order in which they were seen.
  public private(set) var edges: [Edge] = []
  /// The column of each node: what posts is left of what it posts.
  private(set) var columns: [Int] = []
  private var (indices, edgeIndices): ([Node: Int], [SIMD2<Int>: Int]) = ([:], [:])

  /// A name in a record.
  private enum Key: Hashable {
    case type(ObjectIdentifier, String?)
    case observer(Int)
    case stack(UInt32)
    case thread(UInt64)
  }

  init(
    _ records: [TraceRecord], _ state: TraceStorage.State, callers: (UInt32) -> [Caller]?
  ) {
    var types: [UInt64: Int] = [:]
    var known: [Key: Int] = [:]
    for record in records where record.kind == .posted || record.kind == .called {
      let key = Key.type(ObjectIdentifier(record.valueType), record.name)
      let type = record.post.flatMap { types[$0] } ?? index(key, &known) { Node(type: record) }
      if record.kind == .called {
        guard let place = record.place else { continue }
        add(type, index(.observer(place), &known) { Node(place, in: state) })
        continue
      }
      if let post = record.post { types[post] = type }
      let poster = record.parentPlace.map { Key.observer($0) } ?? record.callers.map { .stack($0) }
      let from = index(poster ?? .thread(record.thread), &known) {
        if let place = record.parentPlace { return Node(place, in: state) }
        return Node(record.callers.flatMap { callers($0)?.first }, state.threads[record.thread])
      }
      add(from, type)
    }
    let time = Double(records.last?.nanoseconds ?? 0) - Double(records.first?.nanoseconds ?? 0)
    for index in edges.indices where time > 0 {
      edges[index].perSecond = Double(edges[index].count) / (time / 1e9)
    }
    arrange()
  }

  private mutating func index(
    _ key: Key, _ known: inout [Key: Int], _ makeNode: () -> Node
  ) -> Int {
    if let index = known[key] { return index }
    known[key] = index(of: makeNode())
    return known[key]!
  }

  private mutating func index(of node: Node) -> Int {
    if let index = indices[node] { return index }
    nodes.append(node)
    indices[node] = nodes.count - 1
    return nodes.count - 1
  }

  private mutating func add(_ from: Int, _ to: Int, like known: Edge? = nil) {
    let ends = SIMD2(from, to)
    let index = edgeIndices[ends] ?? edges.count
    if index == edges.count {
      edgeIndices[ends] = index
      edges.append(Edge(from: from, to: to, count: 0))
    }
    edges[index].count += known?.count ?? 1
    edges[index].perSecond += known?.perSecond ?? 0
    edges[index].isInLoop = edges[index].isInLoop || known?.isInLoop == true
  }

  /// The graph with one node for each module.
  var byModule: TraceGraph {
    var graph = TraceGraph([], TraceStorage.State(ring: TraceRing(capacity: 1))) { _ in nil }
    let modules = nodes.map {
      graph.index(of: Node(kind: .module, name: $0.module, module: $0.module))
    }
    for edge in edges { graph.add(modules[edge.from], modules[edge.to], like: edge) }
    graph.arrange()
    return graph
  }

  // MARK: Arranging

  /// Finds the loops and the columns.
  private mutating func arrange() {
    var targets = [[Int]](repeating: [], count: nodes.count)
    var origins = targets
    for edge in edges { targets[edge.from].append(edge.to) }
    for edge in edges { origins[edge.to].append(edge.from) }
    // A node stands before those that it leads to, except where they lead back to it. Functions, which
    // nothing leads to, are begun with.
    let starts = nodes.indices.filter { origins[$0].isEmpty } + nodes.indices
    let order = Self.finished(from: starts, along: targets).joined().reversed()
    var position = [Int](repeating: 0, count: nodes.count)
    for (place, node) in order.enumerated() { position[node] = place }
    columns = [Int](repeating: 0, count: nodes.count)
    for node in order {
      for target in targets[node] where position[target] > position[node] {
        columns[target] = max(columns[target], columns[node] + 1)
      }
    }
    // Those that lead to each other are found together, against the edges (Kosaraju, Sharir).
    var loop = [Int](repeating: 0, count: nodes.count)
    for (number, members) in Self.finished(from: Array(order), along: origins).enumerated() {
      for node in members { loop[node] = number }
    }
    // Two modules may use each other without a loop.
    for index in edges.indices where nodes[edges[index].from].kind != .module {
      edges[index].isInLoop = loop[edges[index].from] == loop[edges[index].to]
    }
  }

  /// The nodes that each start leads to first, each after those that it leads to.
  private static func finished(from starts: [Int], along targets: [[Int]]) -> [[Int]] {
    var isKnown = [Bool](repeating: false, count: targets.count)
    return starts.map { start in
      var found: [Int] = []
      if isKnown[start] { return found }
      isKnown[start] = true
      var path = [(node: start, next: 0)]
      while let (node, next) = path.last {
        if next == targets[node].count {
          found.append(path.removeLast().node)
          continue
        }
        path[path.count - 1].next += 1
        let target = targets[node][next]
        if isKnown[target] { continue }
        isKnown[target] = true
        path.append((target, 0))
      }
      return found
    }
  }

  /// The graph in the DOT language.
  public var description: String {
    var lines = ["digraph posts {", "  rankdir=LR; node [fontname=\"sans-serif\", fontsize=11];"]
    let modules = Dictionary(grouping: nodes.indices) { nodes[$0].module }
    for (module, members) in modules.sorted(by: { $0.key < $1.key }) {
      let title = String(reflecting: module)
      lines.append("  subgraph cluster\(members[0]) { label=\(title); color=gray;")
      for index in members {
        let shape = nodes[index].kind == .type ? "ellipse" : "box"
        let style = nodes[index].kind == .function ? ", style=dashed" : ""
        let name = String(reflecting: nodes[index].name)
        lines.append("    n\(index) [label=\(name), shape=\(shape)\(style)];")
      }
      lines.append("  }")
    }
    for edge in edges {
      let color = edge.isInLoop ? ", color=red, penwidth=2" : ""
      let label = "\"\(edge.count), \((edge.perSecond * 10).rounded() / 10)/s\""
      lines.append("  n\(edge.from) -> n\(edge.to) [label=\(label)\(color)];")
    }
    return (lines + ["}"]).joined(separator: "\n")
  }
}

extension TraceGraph.Node {
  fileprivate init(type record: TraceRecord) {
    let module = "\(String(reflecting: record.valueType))".prefix { $0 != "." && $0 != "<" }
    self.init(
      kind: .type, name: record.name ?? "\(record.valueType)",
      module: record.name == nil ? String(module) : "names")
  }

  fileprivate init(_ number: Int, in state: TraceStorage.State) {
    let place = state.places[number]
    let owner = place.ownerType.map { "\($0), " } ?? ""
    let module = place.file.prefix { $0 != "/" }
    let delivery = place.delivery == ".immediate" ? "" : ", \(place.delivery)"
    self.init(
      kind: .observer,
      name: "\(owner)\(place.file.dropFirst(module.count + 1)):\(place.line)\(delivery)",
      module: String(module))
  }

  /// The function that posts, or its thread if the function is not known.
  fileprivate init(_ caller: Caller?, _ thread: String?) {
    let folders = caller?.path?.split(separator: "/").dropLast() ?? []
    let module = folders.firstIndex(of: "Sources").flatMap { folders[($0 + 1)...].first }
    self.init(
      kind: .function, name: caller?.description ?? "thread \(thread ?? "")",
      module: String(module ?? folders.last ?? "unknown"))
  }
}

extension Trace {
  /// A graph of who posts to whom: the functions that post, the types, and the observers, with how often.
  ///
  /// ```swift
  /// print(trace.graph())  // in the DOT language: dot -Tsvg
  /// ```
  ///
  /// The graph is made of the kept events. An observer that posts is a node that leads to what it posts,
  /// also if it posts in a task that it has started. A post without a call stack is an arrow from its
  /// thread.
  public func graph() -> TraceGraph {
    let state = storage.current
    return TraceGraph(state.ring.records, state) { storage.callers?.callers($0) }
  }
}
