import Campanile
import CampanileKVO
import Observation

@Observable final class Track {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title: String
  var seconds: Int
  var artist: Artist?

  init(_ title: String, seconds: Int = 0, artist: Artist? = nil) {
    self.title = title
    self.seconds = seconds
    self.artist = artist
  }
}

@Observable final class Artist {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var name: String
  init(_ name: String) { self.name = name }
}

/// A plain class with the macro.
@Observable class Player {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = ""
  var artist = ""
  var level = 0
  var current: Track?
  var tracks: [String] = []
  var tags: Set<String> = []
  weak var follower: Track?
  /// Two of the stored ones.
  var line: String { artist + ": " + title }
  /// `line` and one of those it is made of: a diamond.
  var longLine: String { line + " (" + title + ")" }
}

@Observable final class Shelf<Item> {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var item: Item
  init(_ item: Item) { self.item = item }
}

/// A plain class with the wrapper.
class Radio: Observable {
  @Observed var station = ""
  @Observed var volume = 0
  @Observed var presets: [String] = []
  @Observed var names: Set<String> = []
  @Observed var next: Radio?
  var display: String { "\(station) \(volume)" }
}

final class ClockRadio: Radio {
  @Observed var alarm = 0
}

@MainActor @Observable final class Stage {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var scene = ""
  var light = 0
  let counter = Counter()
}

/// A Sendable class whose state is behind a lock.
final class Counter: SharedObservable {
  private let registrar = KVORegistrar()
  private let state = Locked(0)

  var count: Int {
    get {
      registrar.access(self, keyPath: \.count)
      return state.withLock { $0 }
    }
    set {
      registrar.withMutation(of: self, keyPath: \.count) { state.withLock { $0 = newValue } }
    }
  }

  var double: Int { count * 2 }

  func increment() {
    registrar.withMutation(of: self, keyPath: \.count) { state.withLock { $0 += 1 } }
  }
}

/// An owner that stays in one isolation.
final class Log {
  var lines: [String] = []
  lazy var kvo = KVOController(owner: self)

  /// Adds a line for each call: the new value, behind the old one if that is told.
  func follow<Object: Observable & AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, _ options: KVOChange<Value>.Options = []
  ) {
    kvo.observe(object, keyPath, options: options, policy: .append) { log, _, change in
      log.lines.append(change.old.map { "\($0) -> \(change.new)" } ?? "\(change.new)")
    }
  }
}

/// An owner for any thread.
final class SharedLog: Sendable {
  let lines = Recorder<String>()
}
