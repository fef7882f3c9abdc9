import TestSupport
import Testing

@testable import Campanile

@Suite("K14: followers that are set, paused and resumed in any order", .ownThread)
struct PausedSequencesTests {
  /// A step of a sequence.
  enum Step: CaseIterable, Sendable {
    case set1, set2, set0, pause, resume, run
  }

  /// How a follower is registered.
  struct Form: Sendable, CustomTestStringConvertible {
    let buffering: Buffering
    let options: ObservationOptions<StateChanges<Int>>
    let isMapped: Bool
    var isInitial = false
    let testDescription: String

    /// The most that may wait.
    var room: Int? {
      switch buffering {
      case .newest(let room), .oldest(let room): room
      default: nil
      }
    }

    static let all: [Form] = {
      var all: [Form] = []
      for (buffering, text) in [
        (.unbounded, "unbounded"), (.newest(1), "newest(1)"), (.newest(2), "newest(2)"),
        (.oldest(2), "oldest(2)"),
      ] as [(Buffering, String)] {
        for (options, name) in [
          ([], ""), (.initial, "initial"), (.distinct, "distinct"),
          ([.initial, .distinct], "initial, distinct"),
        ] as [(ObservationOptions<StateChanges<Int>>, String)] {
          all.append(
            Form(
              buffering: buffering, options: options, isMapped: false,
              isInitial: name.hasPrefix("initial"), testDescription: "\(text) \(name)"))
        }
        all.append(
          Form(
            buffering: buffering, options: .distinct, isMapped: true,
            testDescription: "\(text) mapped, distinct"))
      }
      return all
    }()
  }

  /// A state with one follower, and what it knows.
  private final class Played {
    let state = CurrentValue(0)
    let target = ManualTarget()
    let told = Recorder<ValueChange<Int>>()
    let token: ObservationToken

    init(_ form: Form) {
      let record = { @Sendable [told] (change: ValueChange<Int>) in told.record(change) }
      token =
        form.isMapped
        ? state.map { $0 }.changes.observe(
          on: .target(target, buffering: form.buffering), options: .distinct, record)
        : state.changes.observe(
          on: .target(target, buffering: form.buffering), options: form.options, record)
    }

    /// The most that has waited.
    private var most = 0

    func take(_ step: Step) {
      defer { most = max(most, token.registration.waitingCount) }
      switch step {
      case .set0: state.value = 0
      case .set1: state.value = 1
      case .set2: state.value = 2
      case .pause: if !token.isPaused { token.pause() }
      case .resume: if token.isPaused { token.resume() }
      case .run: target.runNext()
      }
    }

    /// Ends all pauses, and lets all be told.
    func finish() {
      if token.isPaused { token.resume() }
      target.runAll()
    }

    /// The first fault in what the follower was told, if any.
    func fault(_ form: Form) -> String? {
      let changes = told.values
      if let room = form.room, most > room { return "\(most) waited" }
      var known = form.isInitial ? nil : 0
      for change in changes {
        if change.old != known { return "it is told \(change.old ?? -1), and knew \(known ?? -1)" }
        known = change.new
      }
      // What is refused by a buffer of the oldest has to wait for the next change.
      if case .oldest = form.buffering, token.registration.droppedCount > 0 { return nil }
      return known == state.value ? nil : "it knows \(known ?? -1), and the value is \(state.value)"
    }
  }

  private static func fault(_ form: Form, _ steps: [Step]) -> String? {
    let played = Played(form)
    for step in steps { played.take(step) }
    played.finish()
    return played.fault(form).map {
      "\(steps): \($0); \(played.told.values.map { "\($0.old ?? -1)>\($0.new)" })"
    }
  }

  @Test(
    "K14 The last call carries the newest value, and no call an old value that was not known",
    arguments: Form.all)
  func sequences(form: Form) {
    var dice = SeededGenerator(14)
    let choices = Step.allCases + [.pause, .resume, .run, .run]
    for _ in 0..<Effort.times(500, long: 30_000) {
      let steps = (0..<(4 + dice.below(24))).map { _ in choices.randomElement(using: &dice)! }
      guard let fault = Self.fault(form, steps) else { continue }
      Issue.record("\(fault)")
      return
    }
  }

  @Test(
    "K14 With distinct, a repetition is left out also after a pause",
    arguments: [.newest(2), .oldest(2)] as [Buffering])
  func repetition(buffering: Buffering) {
    let form = Form(
      buffering: buffering, options: .distinct, isMapped: false, testDescription: "")
    let played = Played(form)
    for step in [Step.set1, .pause, .run, .resume, .set1] { played.take(step) }
    played.finish()
    #expect(played.told.values == [ValueChange(old: 0, new: 1)])
  }
}
