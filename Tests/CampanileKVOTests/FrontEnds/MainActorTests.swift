import Campanile
import CampanileKVO
import Observation
import Testing

@MainActor
@Suite("Classes isolated to the main actor", .ownThread)
struct MainActorTests {
  @MainActor final class Screen {
    var lines: [String] = []
    lazy var kvo = KVOController(owner: self)
  }

  let stage = Stage()
  let screen = Screen()

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

  @Test(
    "A stray change of an observation that has ended meanwhile, or whose object has died, is not told",
    arguments: [false, true])
  func strayedAfterEnd(isDeath: Bool) async {
    var stage: Stage? = Stage()
    weak let weakStage = stage
    screen.kvo.observe(stage!, \.counter.count) { screen, _, change in
      screen.lines.append("\(change.new)")
    }
    let counter = stage!.counter
    onThread { counter.count = 1 }()
    if isDeath { stage = nil } else { screen.kvo.unobserve(stage!) }
    #expect((weakStage == nil) == isDeath)
    await drainMain()
    counter.count = 2
    #expect(screen.lines.isEmpty)
    #expect(screen.kvo.observationCount == 0)
    withExtendedLifetime(stage) {}
  }
}

@Suite("Classes isolated to a global actor of the program's own", .ownThread)
struct GlobalActorTests {
  @globalActor actor AudioActor {
    static let shared = AudioActor()
  }

  @AudioActor @Observable final class Engine {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    var gain = 0
    var isLoud: Bool { gain > 5 }
  }

  @AudioActor final class Meter {
    var heard: [String] = []
    lazy var kvo = KVOController(owner: self)
    func follow(_ engine: Engine) {
      kvo.observe(engine, \.gain, options: .old) { meter, _, change in
        meter.heard.append("\(change.old ?? -1) -> \(change.new)")
      }
      kvo.observe(engine, \.isLoud, options: .distinct) { meter, engine, change in
        meter.heard.append("\(engine.gain) \(change.new)")
      }
    }
  }

  @Test("A class of a global actor of the program's own is observed there")
  @AudioActor func globalActor() async {
    let (engine, meter) = (Engine(), Meter())
    meter.follow(engine)
    engine.gain = 3
    await Task { @AudioActor in engine.gain = 8 }.value
    #expect(meter.heard == ["0 -> 3", "3 -> 8", "8 true"])
  }
}
