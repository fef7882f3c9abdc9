import CampanileTesting
import Dispatch
import Foundation

extension Scenario {
  /// Observers on a queue.
  static let delivering: [Scenario] = [
    Scenario(5, "Observers on one queue are called in the order in which they registered", .queues)
    {
      stage in
      let (source, heard, place) = (stage.makeSource(), Recorder<Int>(), Place())
      let handles = (0..<40).map { index in
        source.observe(Wish(place: place)) { _ in heard.record(index) }
      }
      source.post(1)
      place.flush()
      try stage.expect(heard.values == Array(0..<40), "calls them in another order")
      for handle in handles { handle.cancel() }
    },
    Scenario(6, "An observer on a queue receives the posts of all threads in order", .queues) {
      stage in
      let (source, heard, place) = (stage.makeSource(), Recorder<Int>(), Place())
      let handle = source.observe(Wish(place: place)) { heard.record($0) }
      for number in 1...50 {
        try stage.expect(stage.begin { source.post(number) }(), "deadlocks")
      }
      place.flush()
      try stage.expect(heard.values == Array(1...50), "delivers out of order")
      handle.cancel()
    },
    Scenario(3, "Nothing is delivered after `cancel`, not even what was queued", .queues) { stage in
      let (source, heard, place) = (stage.makeSource(), Recorder<Int>(), Place())
      let handle = source.observe(Wish(place: place)) { heard.record($0) }
      let post = stage.beginPost(1, to: source, heldBy: place)
      handle.cancel()
      place.letGo()
      try stage.expect(post(), "deadlocks")
      place.flush()
      try stage.expect(heard.values == [], "delivers what was queued before")
    },
    Scenario(10, "A post does not wait for another queue", .queues) { stage in
      let (source, heard, place) = (stage.makeSource(), Recorder<Int>(), Place())
      let handle = source.observe(Wish(place: place)) { heard.record($0) }
      let post = stage.beginPost(1, to: source, heldBy: place)
      // A poster that waits stays where it is.
      let hasWaited = !post(within: stage.implementation.patience)
      place.letGo()
      try stage.expect(post(), "deadlocks")
      try stage.expect(!hasWaited, "makes the poster wait until the queue has run the observer")
      place.flush()
      try stage.expect(heard.values == [1], "delivers \(heard.values)")
      handle.cancel()
    },
    Scenario(10, "Posting and waiting returns when each delivery has ended", .postAndWait) {
      stage in
      let (source, heard, place) = (stage.makeSource(), Recorder<Int>(), Place())
      let handle = source.observe(Wish(place: place)) { heard.record($0) }
      let found = Recorder<[Int]>()
      let done = DispatchSemaphore(value: 0)
      Task {
        try await source.postAndWait(1)
        found.record(heard.values)
        done.signal()
      }
      done.wait()
      try stage.expect(found.values == [[1]], "returns with \(found.values) delivered")
      handle.cancel()
    },
    Scenario(11, "A post on the queue itself is delivered before it returns", .queues) { stage in
      let (source, heard, place) = (stage.makeSource(), Recorder<Int>(), Place())
      let handle = source.observe(Wish(place: place)) { heard.record($0) }
      let found = Recorder<[Int]>()
      let ends = stage.begin {
        place.run {
          source.post(1)
          found.record(heard.values)
        }
      }
      try stage.expect(ends(), "deadlocks")
      place.flush()
      try stage.expect(heard.values == [1], "delivers \(heard.values)")
      try stage.expect(found.values == [[1]], "delivers it later")
      handle.cancel()
    },
    Scenario(12, "A bounded observer keeps the newest, and no more than its bound", .bounds) {
      stage in
      let (source, heard, place) = (stage.makeSource(), Recorder<Int>(), Place())
      let handle = source.observe(Wish(place: place, newest: 2)) { heard.record($0) }
      place.hold()
      for number in 1...5 { source.post(number) }
      place.letGo()
      place.flush()
      try stage.expect(heard.values == [4, 5], "delivers \(heard.values)")
      handle.cancel()
    },
  ]
}

extension Stage {
  /// Holds `place` and posts to `source`; returns when the post has returned, or waits for the place.
  fileprivate func beginPost(
    _ number: Int, to source: any Source, heldBy place: Place
  ) -> Begun {
    place.hold()
    let returned = Kept<Bool>()
    let ends = begin {
      source.post(number)
      returned.set(true)
    }
    // A poster that waits has put an operation behind the one that holds the queue.
    while returned.value == nil && place.operations.operationCount < 2 { sched_yield() }
    return ends
  }
}
