// What the observations of KeyValueHandlers.swift are about, and who makes them.
import Campanile
import CampanileKVO
import Dispatch
import Observation
import Synchronization

@MainActor @Observable final class MainPlayer {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = ""
  var subtitle: String?
  var number = 0
  var ratio = 0.5
  var tracks: [Track] = []
  var next: MainPlayer?
}

@Observable final class Track {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var name: String?
  var value = 0
  var ratio = 0.5
  var tags: [String] = []
}

final class Counter: SharedObservable {
  private let registrar = KVORegistrar()
  private let state = Mutex(0)

  var count: Int {
    get { registrar.get(self, \.count, in: state) }
    set { registrar.set(self, \.count, in: state, to: newValue) }
  }
  var name: String { "counter" }
}

@MainActor final class Screen: KVOControllerOwner {
  nonisolated let kvoControllers = KVOControllers()
  var text = ""
  var tokens: [ObservationToken] = []
  var shared: [ObservationToken] = []
}

final class Log {
  lazy var kvo = KVOController(owner: self)
  var text = ""
  var token: ObservationToken?
}

final class Store: Sendable, KVOControllerOwner {
  let kvoControllers = KVOControllers()
  func save(_ text: String) {}
}
