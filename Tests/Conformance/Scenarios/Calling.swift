import CampanileTesting
import Dispatch

extension Scenario {
  /// In which order observers are called, and what they may do.
  static let calling: [Scenario] = [
    Scenario(5, "Observers are called in the order in which they registered") { stage in
      let (source, heard) = (stage.makeSource(), Recorder<Int>())
      let handles = (0..<40).map { index in source.observe { _ in heard.record(index) } }
      source.post(1)
      try stage.expect(heard.values == Array(0..<40), "calls them in another order")
      for handle in handles { handle.cancel() }
    },
    Scenario(5, "Removals leave the order of the rest as it was") { stage in
      let (source, heard) = (stage.makeSource(), Recorder<Int>())
      var handles = (0..<60).map { index in source.observe { _ in heard.record(index) } }
      for index in stride(from: 57, through: 0, by: -3) { handles.remove(at: index).cancel() }
      source.post(1)
      let rest = (0..<60).filter { !$0.isMultiple(of: 3) }
      try stage.expect(heard.values == rest, "calls the rest in another order")
      for handle in handles { handle.cancel() }
    },
    Scenario(
      5, "Observers of one subject, of any, and of all messages share one order", .subjects,
      .wildcards
    ) { stage in
      let (source, heard, bell) = (stage.makeSource(), Recorder<Int>(), Bell())
      let handles = (0..<30).map { index in
        let wish = [Wish(), Wish(isWildcard: true), Wish(subject: bell)][index % 3]
        return source.observe(wish) { _ in heard.record(index) }
      }
      source.post(1, about: bell)
      try stage.expect(heard.count == 30, "calls \(heard.count) of 30")
      try stage.expect(heard.values == Array(0..<30), "calls them kind by kind, or in no order")
      for handle in handles { handle.cancel() }
    },
    Scenario(6, "A nested post is delivered before it returns", .nesting) { stage in
      let (source, log) = (stage.makeSource(), Recorder<String>())
      let handle = source.observe { number in
        log.record("begin \(number)")
        if number < 3 { source.post(number + 1) }
        log.record("end \(number)")
      }
      source.post(1)
      let expected = ["begin 1", "begin 2", "begin 3", "end 3", "end 2", "end 1"]
      try stage.expect(log.values == expected, "delivers in the order \(log.values)")
      handle.cancel()
    },
    Scenario(6, "The posts of each thread are heard in their order", .concurrency) { stage in
      let (source, heard) = (stage.makeSource(), Recorder<Int>())
      let handle = source.observe { heard.record($0) }
      let threads = (0..<4).map { thread in
        stage.begin { for number in 0..<200 { source.post(thread * 200 + number) } }
      }
      for ends in threads { try stage.expect(ends(), "deadlocks") }
      for thread in 0..<4 {
        let own = heard.values.filter { $0 / 200 == thread }
        try stage.expect(own == own.sorted(), "delivers the posts of a thread out of order")
      }
      handle.cancel()
    },
    Scenario(7, "An observer may end itself and add another", .nesting) { stage in
      let (source, heard) = (stage.makeSource(), Recorder<Int>())
      let own = Kept<Handle>()
      let other = Kept<Handle>()
      own.set(
        source.observe { number in
          own.value?.cancel()
          own.value?.cancel()
          other.set(source.observe { heard.record($0) })
          heard.record(number)
        })
      source.post(1)
      source.post(2)
      try stage.expect(heard.values == [1, 2], "delivers \(heard.values)")
      other.value?.cancel()
    },
    Scenario(7, "No lock is held while what an observer captured is released") { stage in
      let (source, heard, isFree) = (stage.makeSource(), Recorder<Int>(), Kept<Bool>())
      let live = source.observe { heard.record($0) }
      // From another thread, since a lock that is taken twice by one thread ends the process.
      let patience = stage.implementation.patience
      let post: @Sendable () -> Void = {
        isFree.set(stage.begin { source.post(7) }(within: patience))
      }
      let handle = source.observe { [last = LastWord(post)] _ in last.touch() }
      handle.cancel()
      try stage.expect(
        isFree.value == true, "releases it under its lock: a post in a `deinit` deadlocks")
      try stage.expect(heard.values == [7], "delivers \(heard.values) of a post in a `deinit`")
      live.cancel()
    },
    Scenario(13, "An observer that throws stops no other one, and does not end", .throwing) {
      stage in
      let (source, heard) = (stage.makeSource(), Recorder<String>())
      let thrower = source.observe { number in
        heard.record("thrower \(number)")
        throw Broken("threw")
      }
      let handle = source.observe { heard.record("other \($0)") }
      source.post(1)
      source.post(2)
      let expected = ["thrower 1", "other 1", "thrower 2", "other 2"]
      try stage.expect(heard.values == expected, "delivers \(heard.values)")
      for handle in [thrower, handle] { handle.cancel() }
    },
    Scenario(14, "A set inside a follower is delivered next, in the same order to all", .state) {
      stage in
      let (source, heard) = (stage.makeSource(), Recorder<String>())
      let first = source.observe { number in
        heard.record("a\(number)")
        if number == 1 { source.post(2) }
      }
      let second = source.observe { heard.record("b\($0)") }
      source.post(1)
      try stage.expect(heard.values == ["a1", "b1", "a2", "b2"], "tells \(heard.values)")
      for handle in [first, second] { handle.cancel() }
    },
    Scenario(14, "A follower that missed changes in a pause receives one when it resumes", .state) {
      stage in
      let (source, heard) = (stage.makeSource(), Recorder<Int>())
      let handle = source.observe { heard.record($0) }
      for number in 1...2 {
        handle.pause()
        source.post(number * 10)
        source.post(number * 10 + 1)
        handle.resume()
      }
      handle.pause()
      handle.resume()
      try stage.expect(heard.values == [11, 21], "delivers \(heard.values)")
      handle.cancel()
    },
    Scenario(14, "A follower begins with the value, misses none, and ends with the newest", .state)
    {
      stage in
      let (source, heard) = (stage.makeSource(), Recorder<Int>())
      source.post(1)
      let (began, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let ends = stage.begin {
        source.post(2)
        began.signal()
        goesOn.wait()
        for number in 3...2_000 { source.post(number) }
      }
      began.wait()
      goesOn.signal()
      let handle = source.observe(Wish(isInitial: true)) { heard.record($0) }
      try stage.expect(ends(), "deadlocks")
      let (values, first) = (heard.values, heard.values.first ?? 0)
      try stage.expect(
        first >= 1 && values == Array(first...2_000), "leaves out or repeats a value")
      handle.cancel()
    },
  ]
}

/// Runs an action when it is released.
private final class LastWord: Sendable {
  private let action: @Sendable () -> Void
  init(_ action: @escaping @Sendable () -> Void) { self.action = action }
  deinit { action() }
  func touch() {}
}
