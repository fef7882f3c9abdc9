import Campanile
import Foundation
import Testing

@testable import CampanileFoundation

/// How an observer asks.
enum Form: CaseIterable, Sendable {
  case untyped, untypedOfAnyName, typed, descriptor

  func observe(
    _ center: any TestedCenter, about object: Ending? = nil, on stage: Stage, at place: Place
  ) {
    let (heard, name) = (stage.heard, Ended.notificationName)
    switch self {
    case .untyped, .untypedOfAnyName:
      let name = self == .untyped ? name : nil
      let source =
        if let object { center.notifications(of: name, object: object) } else {
          center.notifications(of: name)
        }
      stage.observe(source, at: place) { posted in
        let number: Int = posted["number"] ?? -1
        let isThere = posted.object(as: Ending.self) != nil
        heard.record("\(number)" + (isThere ? " and its object" : ""))
      }
    case .typed:
      let source =
        if let object { center.notifications(of: Ended.self, object: object) } else {
          center.notifications(of: Ended.self)
        }
      stage.observe(source, at: place) { heard.record("\($0.number)") }
    case .descriptor:
      let source =
        if let object { center.notifications(of: Ended.withObject, object: object) } else {
          center.notifications(of: Ended.withObject)
        }
      stage.observe(source, at: place) { heard.record("\($0)") }
    }
  }

  var isUntyped: Bool { self == .untyped || self == .untypedOfAnyName }
}

@Suite("Posts about an object that is in its deinit", .ownThread, .bothCenters)
struct DeinitTests {
  private let center = makeCenter()

  @Test("K9 a notification reaches observers wherever they run", arguments: Place.allCases)
  func delivered(place: Place) async {
    for form in Form.allCases {
      for isAboutObject in [false, true] {
        let stage = Stage()
        stage.hold()
        for number in 0..<4 {
          let ending = Ending { [center] in center.post(Ended(number: number), object: $0) }
          if isAboutObject {
            form.observe(center, about: ending, on: stage, at: place)
          } else if number == 0 {
            form.observe(center, on: stage, at: place)
          }
          withExtendedLifetime(ending) {}
        }
        stage.letGo()
        let heard = await stage.heard.values(count: 4)
        let isThere = place.isImmediate && form.isUntyped
        let expected = (0..<4).map { "\($0)" + (isThere ? " and its object" : "") }
        #expect(heard.sorted() == expected, "\(form), \(isAboutObject)")
      }
    }
  }

  @Test("K9 many objects end at once, with observers everywhere", arguments: [2, 8])
  func stress(width: Int) async {
    let stage = Stage()
    for place in Place.allCases {
      for form in Form.allCases { form.observe(center, on: stage, at: place) }
    }
    onThreads(width) { [center] thread in
      for number in 0..<50 {
        _ = Ending { center.post(Ended(number: thread * 50 + number), object: $0) }
      }
    }
    // The manual place has had none yet.
    stage.letGo(isHeld: false)
    let count = width * 50 * Place.allCases.count * Form.allCases.count
    #expect(await stage.heard.values(count: count).count == count)
  }

  @Test("K9 what an observer has kept of it holds no object")
  func keptByObserver() {
    let kept = Recorder<PostedNotification>()
    let token = center.observe(nil) {
      #expect($0.object(as: Ending.self) != nil)
      kept.record($0)
    }
    do { _ = Ending { [center] in center.post(Ended(number: 1), object: $0) } }
    let posted = kept.values[0]
    #expect(posted.object(as: Ending.self) == nil)
    #expect(posted["number"] == 1)
    // Nor is another object taken for it, also if it is given the same address.
    let others = (0..<1_000).map { _ in Ending { _ in } }
    #expect(!others.contains { posted.isAbout($0) })
    withExtendedLifetime(token) {}
  }

  @Test("K9 what an object has posted in its deinit is not about a later object in its own")
  func laterDeinit() {
    let (kept, answers) = (Recorder<PostedNotification>(), Recorder<Bool>())
    let token = center.observe(Ended.notificationName) { kept.record($0) }
    do {
      _ = (0..<100).map { number in
        Ending { [center] in center.post(Ended(number: number), object: $0) }
      }
    }
    let posted = kept.values
    // Some of them are given the same addresses.
    do {
      _ = (0..<100).map { _ in
        Ending { ending in answers.record(posted.contains { $0.isAbout(ending) }) }
      }
    }
    #expect(posted.count == 100 && answers.count == 100)
    #expect(!answers.values.contains(true))
    withExtendedLifetime(token) {}
  }

  @Test("K9 what begins to observe an object in its deinit hears nothing", arguments: Form.allCases)
  func observedTooLate(form: Form) async {
    let stage = Stage()
    for number in 0..<100 {
      _ = Ending { [center] ending in
        for place in Place.allCases { form.observe(center, about: ending, on: stage, at: place) }
        center.post(Ended(number: number), object: ending)
      }
    }
    // Nor is another object taken for one of them.
    let others = (0..<100).map { _ in Ending { _ in } }
    for other in others { center.post(Ended(number: -1), object: other) }
    stage.letGo(isHeld: false)
    form.observe(center, on: stage, at: .queue)
    center.post(Ended(number: 100), object: others[0])
    #expect(await stage.heard.values(count: 1).map { $0.prefix(3) } == ["100"])
  }

  @Test("K9 whether it is about an object is known while it is posted, and later")
  func isAbout() {
    let (target, answers) = (ManualTarget(), Recorder<Bool>())
    let living = Bell()
    let tokens = [Delivery.immediate, target.delivery].map { delivery in
      center.observe(.tick, on: delivery) { posted in
        answers.record(posted.isAbout(living))
        answers.record(posted.object(as: Bell.self) === living)
      }
    }
    center.post(.tick, 1, object: living)
    center.post(.tick, 2, object: Bell())
    target.runJobs()
    #expect(answers.values == [true, true, false, false, true, true, false, false])
    let seen = Recorder<Bool>()
    let token = center.observe(Ended.notificationName) { _ in seen.record(true) }
    do {
      _ = Ending { [center] ending in
        let own = center.observe(Ended.notificationName) { posted in
          seen.record(posted.isAbout(ending))
        }
        center.post(Ended(number: 1), object: ending)
        withExtendedLifetime(own) {}
      }
    }
    #expect(seen.values == [true, true])
    withExtendedLifetime((tokens, token)) {}
  }
}
