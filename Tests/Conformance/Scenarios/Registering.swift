import CampanileTesting

extension Scenario {
  /// Who hears a post.
  static let registering: [Scenario] = [
    Scenario(1, "Every post that begins after `observe` returned is heard, once") { stage in
      let (source, heard) = (stage.makeSource(), Recorder<Int>())
      source.post(1)
      let handle = source.observe { heard.record($0) }
      source.post(2)
      source.post(3)
      try stage.expect(heard.values == [2, 3], "delivers \(heard.values) of the posts 2 and 3")
      handle.cancel()
    },
    Scenario(1, "Two registrations of one closure are two registrations") { stage in
      let (source, heard) = (stage.makeSource(), Recorder<Int>())
      let observer: @Sendable (Int) -> Void = { heard.record($0) }
      let handles = [source.observe(observer), source.observe(observer)]
      source.post(1)
      handles[0].cancel()
      source.post(2)
      try stage.expect(heard.values == [1, 1, 2], "delivers \(heard.values)")
      handles[1].cancel()
    },
    Scenario(1, "A handle that is used again ends no other registration") { stage in
      let (source, heard) = (stage.makeSource(), Recorder<Int>())
      let stale = source.observe { _ in }
      stale.cancel()
      let live = (0..<4).map { index in source.observe { _ in heard.record(index) } }
      stale.cancel()
      source.post(1)
      try stage.expect(
        heard.count == 4, "ends \(4 - heard.count) of 4 live registrations by a stale handle")
      for handle in live { handle.cancel() }
    },
    Scenario(1, "Posts of many threads are all heard, none twice", .concurrency) { stage in
      let (source, heard) = (stage.makeSource(), Recorder<Int>())
      let handle = source.observe { heard.record($0) }
      let threads = (0..<4).map { thread in
        stage.begin { for number in 1...200 { source.post(thread * 200 + number) } }
      }
      for ends in threads { try stage.expect(ends(), "deadlocks") }
      // One thread may be telling what another has set; it has returned by now, and so has it.
      try stage.expect(
        heard.values.sorted() == Array(1...800), "delivers \(heard.count) of 800 posts")
      handle.cancel()
    },
    Scenario(2, "An observer that is added during a post hears the next one", .nesting) { stage in
      let (source, heard) = (stage.makeSource(), Recorder<Int>())
      let added = Kept<Handle>()
      let handle = source.observe { number in
        if number == 1 { added.set(source.observe { heard.record($0) }) }
      }
      source.post(1)
      try stage.expect(heard.values == [], "delivers the post during which it was added")
      source.post(2)
      try stage.expect(heard.values == [2], "delivers \(heard.values)")
      for handle in [handle, added.value].compactMap({ $0 }) { handle.cancel() }
    },
    Scenario(2, "A paused observer is skipped, and is called again after it resumes", .pausing) {
      stage in
      let (source, heard) = (stage.makeSource(), Recorder<Int>())
      let handle = source.observe { heard.record($0) }
      source.post(1)
      handle.pause()
      source.post(2)
      try stage.expect(heard.values == [1], "delivers \(heard.values) during the pause")
      handle.resume()
      source.post(3)
      // A state tells the follower what it missed.
      let expected = stage.can(.state) ? [1, 2, 3] : [1, 3]
      try stage.expect(heard.values == expected, "delivers \(heard.values)")
      handle.cancel()
    },
    Scenario(9, "An observer of one subject receives only messages about that subject", .subjects) {
      stage in
      let (source, heard) = (stage.makeSource(), Recorder<Int>())
      let (bell, other) = (Bell(), Bell())
      let handle = source.observe(Wish(subject: bell)) { heard.record($0) }
      source.post(1, about: bell)
      source.post(2, about: other)
      source.post(3)
      try stage.expect(heard.values == [1], "delivers \(heard.values)")
      withExtendedLifetime((bell, other)) {}
      handle.cancel()
    },
    Scenario(9, "A new object is not taken for a dead subject at its address", .subjects) { stage in
      let (source, heard) = (stage.makeSource(), Recorder<Int>())
      let handles = (0..<20).map { _ in
        source.observe(Wish(subject: Bell())) { heard.record($0) }
      }
      // Some of these are where the dead ones were, if their memory was given back.
      let bells = (0..<1_000).map { _ in Bell() }
      for bell in bells { source.post(1, about: bell) }
      try stage.expect(
        heard.count == 0, "takes new objects for subjects that have died")
      for handle in handles { handle.cancel() }
    },
  ]
}

/// Keeps what comes after the closure that needs it.
final class Kept<Value: Sendable>: Sendable {
  private let values = Recorder<Value>()
  var value: Value? { values.values.last }
  func set(_ value: Value) { values.record(value) }
}
