import Campanile
import CampanileKVO
import Observation
import Testing

@MainActor
@Suite("Classes isolated to the main actor", .ownThread)
struct MainActorTests {
  @MainActor final class Screen: KVOControllerOwner {
    nonisolated let kvoControllers = KVOControllers()
    var lines: [String] = []
    lazy var kvo = KVOController(owner: self)
  }

  let stage = Stage()
  let screen = Screen()

  @Test("The plain form is chosen, and its handler is isolated to the main actor")
  func plain() {
    screen.kvoController.observe(stage, \.scene) { screen, stage, change in
      screen.lines.append(change.new + stage.scene)
    }
    stage.scene = "Night"
    #expect(screen.lines == ["NightNight"])
  }

  @Test(
    "Observers of several paths are called path by path for such a change too",
    arguments: [false, true])
  func strayedInOrder(isTransaction: Bool) async {
    var lines: [String] = []
    let tokens = [
      stage.observe(\.counter.count) { _, change in lines.append("first \(change.new)") },
      stage.observe(\.counter.double) { _, change in lines.append("double \(change.new)") },
      stage.observe(\.counter.count) { _, change in lines.append("last \(change.new)") },
    ]
    let counter = stage.counter
    await Task.detached {
      if isTransaction {
        KVOTransaction.perform { counter.count = 1 }
      } else {
        counter.count = 1
      }
    }.value
    await drainMain()
    #expect(lines == ["first 1", "last 1", "double 2"])
    withExtendedLifetime(tokens) {}
  }

  @Test("A change that another thread makes on the way has an old value")
  func strayedWithOld() async {
    let (told, tell) = AsyncStream.makeStream(of: String.self)
    screen.kvo.observe(stage, \.counter.count, options: [.old, .distinct]) { _, _, change in
      tell.yield("\(change.old ?? -1) -> \(change.new)")
    }
    let counter = stage.counter
    await Task.detached { counter.count = 1 }.value
    var iterator = told.makeAsyncIterator()
    #expect(await iterator.next() == "0 -> 1")
    counter.count = 1
    counter.count = 2
    #expect(await iterator.next() == "1 -> 2")
  }

  @Test("Observations go on beside key-value observing")
  func observations() async {
    screen.kvo.observe(stage, \.scene) { screen, _, change in screen.lines.append(change.new) }
    let stage = stage
    let scenes = Observations { stage.scene }
    var iterator = scenes.makeAsyncIterator()
    #expect(await iterator.next() == "")
    stage.scene = "Night"
    #expect(await iterator.next() == "Night")
    #expect(screen.lines == ["Night"])
  }

  @Test("Observations of a wrapped object go on too")
  func observationsOfWrapper() async {
    @MainActor final class Lamp: Observable { @Observed var light = 0 }
    let lamp = Lamp()
    let lights = Observations { lamp.light }
    var iterator = lights.makeAsyncIterator()
    #expect(await iterator.next() == 0)
    lamp.light = 1
    #expect(await iterator.next() == 1)
  }

  @Test("Changes in a transaction are one change for a source too, with the first old value")
  func transactionOfSource() {
    let heard = Recorder<String>()
    let token = stage.changes(of: \.light, options: .old).observe {
      heard.record("\($0.old ?? -1) -> \($0.new)")
    }
    KVOTransaction.perform { for light in 1...3 { stage.light = light } }
    #expect(heard.values == ["0 -> 3"])
    withExtendedLifetime(token) {}
  }

  /// Leads to what any thread may change, and to what is not to be changed elsewhere.
  @MainActor @Observable final class Desk {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    let toggle = Toggle(isOn: true)
    let radio = Radio()
    var factor = 1
    var product: Int { factor * toggle.value }
  }

  @Test("K1 What another thread changes while the main actor reads the path is told")
  func changedWhileRead() async {
    let desk = Desk()
    let toggle = desk.toggle
    var heard: [Int] = []
    let token = desk.observe(\.product) { _, change in heard.append(change.new) }
    toggle.hasRead.set {
      toggle.hasRead.set(nil)
      onThread { toggle.setValue(5) }()
    }
    desk.factor = 2
    await drainMain()
    #expect(heard.last == 10)
    withExtendedLifetime(token) {}
  }

  @Test("What another thread changes of an object that stays in one isolation is told here too")
  func changedElsewhere() async {
    let desk = Desk()
    var heard: [Int] = []
    let token = desk.observe(\.radio.volume) { _, change in
      MainActor.preconditionIsolated()
      heard.append(change.new)
    }
    // Nothing else uses it meanwhile.
    nonisolated(unsafe) let radio = desk.radio
    onThread { unsafe radio.volume = 3 }()
    #expect(heard.isEmpty)
    await drainMain()
    #expect(heard == [3])
    withExtendedLifetime(token) {}
  }

  @Test("A change that another thread makes during a transaction of the main actor is told too")
  func strayedInTransaction() async {
    let (told, tell) = AsyncStream.makeStream(of: Int.self)
    screen.kvo.observe(stage, \.counter.count) { screen, _, change in
      MainActor.preconditionIsolated()
      tell.yield(change.new)
    }
    let counter = stage.counter
    KVOTransaction.perform {
      onThread { counter.count = 1 }()
      counter.count = 2
    }
    var iterator = told.makeAsyncIterator()
    #expect(await iterator.next() == 2)
    #expect(await iterator.next() == 2)
    // What is told of the stray change is what is there when it is.
    counter.count = 3
    #expect(await iterator.next() == 3)
  }

  @Test("A stray change of an observation that has ended meanwhile is not told")
  func strayedAfterEnd() async {
    screen.kvo.observe(stage, \.counter.count) { screen, _, change in
      screen.lines.append("\(change.new)")
    }
    let counter = stage.counter
    onThread { counter.count = 1 }()
    screen.kvo.unobserve(stage)
    await drainMain()
    #expect(screen.lines.isEmpty)
  }

  @Test("A stray change of an object that has died meanwhile is not told")
  func strayedAfterDeath() async {
    var stage: Stage? = Stage()
    weak let weakStage = stage
    screen.kvo.observe(stage!, \.counter.count) { screen, _, change in
      screen.lines.append("\(change.new)")
    }
    let counter = stage!.counter
    onThread { counter.count = 1 }()
    stage = nil
    #expect(weakStage == nil)
    await drainMain()
    counter.count = 2
    #expect(screen.lines.isEmpty)
    #expect(screen.kvo.observationCount == 0)
  }
}
