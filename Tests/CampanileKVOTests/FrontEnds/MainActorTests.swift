import Campanile
import CampanileKVO
import Dispatch
import Observation
import Testing

@MainActor
@Suite("Classes isolated to the main actor", .ownThread)
struct MainActorTests {
  @MainActor final class Screen: KVOControllerOwner {
    nonisolated let kvoControllers = KVOControllers()
    var lines: [String] = []
    lazy var kvo = KVOController(owner: self)
    func sceneChanged(_ stage: Stage, _ change: KVOChange<String>) { lines.append(change.new) }
  }

  let stage = Stage()
  let screen = Screen()

  @Test("The plain form is chosen, and its handler is isolated to the main actor")
  func plain() {
    screen.kvo.observe(stage, \.scene) { screen, stage, change in
      screen.lines.append(change.new + stage.scene)
    }
    stage.scene = "Night"
    #expect(screen.lines == ["NightNight"])
  }

  @Test("A handler on .main is told in order, inline or not")
  func onMain() async {
    let (told, tell) = AsyncStream.makeStream(of: String.self)
    stage.changes(of: \.scene, options: .initial).observe(owner: screen, on: .main) {
      screen, change in
      screen.lines.append(change.new)
      tell.yield(change.new)
    }
    stage.scene = "Night"
    var iterator = told.makeAsyncIterator()
    #expect(await iterator.next() == "")
    #expect(await iterator.next() == "Night")
    #expect(screen.lines == ["", "Night"])
  }

  @Test("A handler on a queue gets the values of the time of the change")
  func onQueue() async throws {
    let queue = DispatchQueue(label: "kvo")
    let heard = Recorder<String>()
    stage.changes(of: \.scene, options: .old).observe(owner: screen, on: .queue(queue)) {
      _, change in
      heard.record("\(change.old ?? "-") -> \(change.new)")
    }
    queue.suspend()
    stage.scene = "Night"
    stage.scene = "Day"
    #expect(heard.values.isEmpty)
    queue.resume()
    await withCheckedContinuation { done in queue.async { done.resume() } }
    #expect(heard.values == [" -> Night", "Night -> Day"])
  }

  @Test("A method of the owner that is isolated to the main actor is called in an observer")
  func method() {
    screen.kvo.observe(stage, \.scene) { $0.sceneChanged($1, $2) }
    stage.scene = "Night"
    #expect(screen.lines == ["Night"])
  }

  @Test("A change that another thread makes on the way is told on the main actor")
  func strayed() async {
    let (told, tell) = AsyncStream.makeStream(of: Int.self)
    screen.kvo.observe(stage, \.counter.count) { screen, _, change in
      MainActor.preconditionIsolated()
      screen.lines.append("\(change.new)")
      tell.yield(change.new)
    }
    let counter = stage.counter
    await Task.detached { counter.count = 3 }.value
    var iterator = told.makeAsyncIterator()
    #expect(await iterator.next() == 3)
    #expect(screen.lines == ["3"])
    counter.count = 4
    #expect(screen.lines == ["3", "4"])
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

  @Test(
    "A change that another thread makes on the way has an old value")
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

  @Test("The controller of a class that has one is made when it is asked for, and stays")
  func ownController() {
    screen.kvoController.observe(stage, \.scene) { screen, _, change in
      screen.lines.append(change.new)
    }
    stage.scene = "Night"
    #expect(screen.lines == ["Night"])
    #expect(screen.kvoController === screen.kvoController)
    #expect(screen.kvoController !== screen.kvoControllerRetaining)
    #expect(screen.kvoControllerRetaining.retainsObserved)
  }

  @Test("The one-line form returns a token")
  func token() {
    var lines: [String] = []
    let token = stage.observe(\.scene) { stage, change in lines.append(change.new) }
    stage.scene = "Night"
    token.cancel()
    stage.scene = "Day"
    #expect(lines == ["Night"])
    #expect(!token.isActive)
  }

  @Test("Changes of a main-actor key path are a sequence")
  func sequence() async {
    var iterator = stage.changes(of: \.light, options: .initial).values().makeAsyncIterator()
    stage.light = 1
    stage.light = 2
    #expect(await iterator.next()?.phase == .initial)
    #expect(await iterator.next()?.new == 1)
    #expect(await iterator.next()?.new == 2)
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
}
