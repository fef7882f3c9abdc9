import Campanile
import Foundation
import TestSupport
import Testing

@testable import CampanileInspector

@Suite("Who posts to whom", .ownThread)
struct TraceGraphTests {
  private struct Asked: MessageCenter.Message {}
  private struct Told: MessageCenter.Message {}

  private let center = MessageCenter()

  @Test("Two observers that post to each other are a loop, and what leads to it is none")
  func loop() throws {
    let target = ManualDelivery()
    let tokens = [
      center.observe(Asked.self, on: target.delivery, line: 1) { [center] _ in center.post(Told())
      },
      center.observe(Told.self, on: target.delivery, line: 2) { [center] _ in
        center.post(Asked())
        center.post(Rang())
      },
      center.observe(Rang.self, line: 3) { _ in },
    ]
    let trace = Trace(of: center, callers: false)
    center.post(Asked())
    for _ in 1...10 { target.runNext() }

    let graph = trace.graph()
    let looped = graph.edges.filter(\.isInLoop).map { edge in
      [edge.from, edge.to].map { graph.nodes[$0].name.prefix { $0 != " " && $0 != "," } }
    }
    #expect(
      Set(looped) == [
        ["Asked", "TraceGraphTests.swift:1"], ["TraceGraphTests.swift:1", "Told"],
        ["Told", "TraceGraphTests.swift:2"], ["TraceGraphTests.swift:2", "Asked"],
      ])
    #expect(graph.edges.count == 7)
    let observer = try #require(graph.nodes.firstIndex { $0.name == "TraceGraphTests.swift:3" })
    let calls = try #require(graph.edges.first { $0.to == observer })
    #expect(calls.count == 5 && calls.perSecond > 0)
    #expect(
      graph.nodes[calls.from] == .init(kind: .type, name: "Rang", module: "CampanileInspectorTests")
    )
    // What posts stands left of what it posts.
    #expect(graph.columns[calls.from] < graph.columns[observer])
    let dot = graph.description
    #expect(dot.hasPrefix("digraph posts {") && dot.count { $0 == "\n" } > 10)
    #expect(dot.components(separatedBy: "color=red").count == 5)
    withExtendedLifetime(tokens) {}
  }

  @Test("An observer leads to what it posts, also in a task that it starts")
  func tasks() async throws {
    let told = Recorder(observing: Told.self, in: center)
    let tokens = [
      center.observe(Asked.self, line: 1) { [center] _ in Task { center.post(Told()) } },
      center.messages(of: Asked.self).observeAsync(line: 2) { [center] _ in
        Task { center.post(Told()) }
      },
    ]
    let trace = Trace(of: center, callers: false)
    center.post(Asked())
    _ = try await told.next(2, within: patience)
    let posts = trace.posts
    #expect(posts.map(\.causes) == [[], [posts[0].number], [posts[0].number]])
    let graph = trace.graph()
    let posters = graph.edges.filter { graph.nodes[$0.to].name == "Told" }
      .map { graph.nodes[$0.from].name }
    #expect(
      Set(posters) == [
        "TraceGraphTests.swift:1", "TraceGraphTests.swift:2, asynchronously",
      ])
    withExtendedLifetime(tokens) {}
  }

  @Test("A name of any text is quoted")
  func quoting() {
    let texts = Broadcaster<[String: Int]>()
    let trace = Trace(of: texts, callers: false)
    let token = texts.observe(file: "a/\"b\\\n", line: 1) { _ in }
    texts.send([:])
    #expect(trace.graph().description.contains(#""\"b\\\n:1""#))
    withExtendedLifetime(token) {}
  }

  #if Page
    @Test("Many nodes are drawn module by module")
    func modules() {
      let sources = (0..<PageGraph.nodeLimit).map { _ in Broadcaster<Int>() }
      let trace = Trace(callers: false)
      for source in sources { trace.add(source) }
      let tokens = sources.enumerated().map { $1.observe(line: UInt($0)) { _ in } }
      for source in sources { source.send(1) }
      let graph = PageGraph(trace.graph())
      #expect(Set(graph.nodes.map(\.name)).isSuperset(of: ["Swift", "CampanileInspectorTests"]))
      #expect(graph.nodes.count == 3)
      #expect(Set(graph.nodes.map { [$0.column, $0.row] }).count == 3)
      withExtendedLifetime(tokens) {}
    }
  #endif
}
