import Campanile
import CampanileKVO
import FuzzSupport
import Observation

/// One class with the standard macro, one with the wrapper; each leads to the other.
@Observable final class Track {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = 0
  var seconds = 0
  var artist: Artist?
  var notes: [Int] = []
  var sum: Int { title + seconds + (artist?.name ?? 0) }
  var sumAgain: Int { sum + title }
  /// Now the one array, now the other.
  var picked: [Int] { artist?.track?.notes ?? notes }
  /// Leads to it, and forwards edits to it.
  var forwarded: [Int] {
    get { artist?.marks ?? [] }
    set { artist?.marks = newValue }
  }
}

final class Artist: Observable {
  @Observed var name = 0
  @Observed var track: Track?
  @Observed var marks: [Int] = []
  var twice: Int { name * 2 }
}

/// One input: sets, replaced objects, transactions, edits of arrays, and observations of eight key
/// paths of numbers and three of arrays, from outside and from inside the observers, also before the
/// changes that they are told, beside the values that the observers were told last, and the arrays
/// that were rebuilt from the edits.
final class KeyValueRun {
  /// What an observer was told, and what it is to be told.
  final class Following {
    let path: KeyPath<Track, Int?>
    let isOld: Bool
    let isDistinct: Bool
    let isOnce: Bool
    var value: Int?
    var changes = 0
    var hasEnded = false
    var token: ObservationToken?

    init(_ path: KeyPath<Track, Int?>, _ isOld: Bool, _ isDistinct: Bool, _ isOnce: Bool) {
      self.path = path
      self.isOld = isOld
      self.isDistinct = isDistinct
      self.isOnce = isOnce
    }
  }

  private let paths: [KeyPath<Track, Int?>] = [
    \.optionalTitle, \.optionalSeconds, \.artist?.name, \.artist?.twice, \.artist?.track?.title,
    \.artist?.track?.sum, \.optionalSum, \.optionalSumAgain,
  ]

  private var choices: Choices
  private let root = Track()
  private var tracks: [Track] = []
  private var artists: [Artist] = []
  private var followings: [Following] = []
  private var copies: [Copy] = []
  private var depth = 0
  private var isInTransaction = false
  /// How many calls of observers are going on.
  private var level = 0
  private let cage: Canary.Cage

  init(_ choices: Choices, _ cage: Canary.Cage) {
    self.choices = choices
    self.cage = cage
    tracks = [root, Track(), Track()]
    artists = [Artist(), Artist()]
  }

  func run() {
    while !choices.isAtEnd {
      step()
      check()
    }
    // The objects lead to each other.
    for track in tracks { track.artist = nil }
    for artist in artists { artist.track = nil }
    check()
    for following in followings { following.token = nil }
    for copy in copies { copy.token = nil }
  }

  /// Between operations every observer has been told the value that there is.
  private func check() {
    for following in followings where !following.hasEnded {
      let value = root[keyPath: following.path]
      require(
        following.value == value,
        "\(following.path) is \(value as Any), and its observer knows \(following.value as Any)")
    }
    for copy in copies where !copy.hasEnded {
      let elements = root[keyPath: copy.path]
      require(copy.elements == elements, "\(elements) was rebuilt as \(copy.elements)")
    }
  }

  /// Says what is done, further to the right if an observer does it.
  private func say(_ sentence: @autoclosure () -> String) {
    trace(String(repeating: "  ", count: level) + sentence())
  }

  private func step() {
    switch choices.pick(12) {
    case 0, 1: set()
    case 2: replace()
    case 3, 4: observe()
    case 5: end()
    case 6: transaction()
    case 7, 8, 9: edit()
    case 10: copy()
    default: mutate()
    }
  }

  private func set() {
    let number = choices.pick(4)
    change {
      switch choices.pick(3) {
      case 0:
        let track = choices.pick(3)
        say("tracks[\(track)].title = \(number)")
        tracks[track].title = number
      case 1:
        let track = choices.pick(3)
        say("tracks[\(track)].seconds = \(number)")
        tracks[track].seconds = number
      default:
        let artist = choices.pick(2)
        say("artists[\(artist)].name = \(number)")
        artists[artist].name = number
      }
    }
  }

  /// Objects that lead to objects; never a circle, for the computed properties to end.
  private func replace() {
    let artist = choices.pick(3)
    change {
      if choices.flip() {
        say("root.artist = \(artist)")
        root.artist = artist < 2 ? artists[artist] : nil
      } else {
        let track = choices.pick(3)
        say("artists[\(artist % 2)].track = \(track)")
        artists[artist % 2].track = track == 0 ? nil : tracks[track]
      }
    }
  }

  private func mutate() {
    change {
      if choices.flip() {
        let step = choices.pick(3)
        say("root.title += \(step)")
        root.title += step
      } else {
        let artist = choices.pick(2)
        say("artists[\(artist)].name += 1")
        artists[artist].name += 1
      }
    }
  }

  private func transaction() {
    change {
      say("transaction {")
      KVOTransaction.perform {
        isInTransaction = true
        for _ in 0..<choices.pick(5) {
          switch choices.pick(4) {
          case 0: set()
          case 1: replace()
          default: edit()
          }
        }
        isInTransaction = false
        say("} tells")
      }
      say("end of transaction")
    }
  }

  /// Makes one change: it is told once, also to those who can see it in more than one way, if no
  /// observer makes others.
  private func change(_ body: () -> Void) {
    if depth > 0 || isInTransaction { return body() }
    let before = followings.map(\.changes)
    hasNested = false
    body()
    if hasNested { return }
    for (following, count) in zip(followings, before) {
      require(following.changes <= count + 1, "\(following.path) was told one change twice")
    }
  }

  /// Whether an observer has changed something in the change that is being made from outside.
  private var hasNested = false

  private func observe() {
    guard followings.count < 64, !isInTransaction else { return }
    let place = choices.pick(paths.count)
    let path = paths[place]
    let kinds = choices.pick(16)
    let following = Following(path, kinds & 1 != 0, kinds & 2 != 0, kinds & 12 == 12)
    following.value = root[keyPath: path]
    followings.append(following)
    say(
      "observe #\(followings.count - 1) path \(place) kinds \(kinds) value \(following.value as Any)"
    )
    var options: [KVOChange<Int?>.Options] = []
    if following.isOld { options.append(.old) }
    if following.isDistinct { options.append(.distinct) }
    switch kinds & 12 {
    case 4: options.append(.prior)
    case 8: options.append(.initial)
    case 12: options.append(.once)
    default: break
    }
    let all = options.reduce(into: [] as KVOChange<Int?>.Options) { $0 = Self.join($0, $1) }
    let canary = Canary(cage)
    following.token = root.observe(path, options: all) {
      [unowned self, unowned following] track, change in
      canary.check()
      hear(following, track, change)
    }
  }

  /// Both of two sets of options.
  private static func join(_ one: KVOChange<Int?>.Options, _ other: KVOChange<Int?>.Options)
    -> KVOChange<Int?>.Options
  {
    [one, other]
  }

  private func hear(_ following: Following, _ track: Track, _ change: KVOChange<Int?>) {
    require(!following.hasEnded, "An observer was told a change after its end")
    require(track === root, "An observer was told of another object")
    say(
      "#\(followings.firstIndex { $0 === following }!) \(change.phase) \(change.old as Any) -> \(change.new as Any)"
    )
    level += 1
    defer { level -= 1 }
    switch change.phase {
    case .prior:
      nest()
      return
    case .initial:
      require(change.new == following.value, "The initial value is \(change.new as Any)")
      return
    case .changed:
      break
    }
    if following.isOld {
      require(change.old == .some(following.value), "The old value is \(change.old as Any)")
    }
    if following.isDistinct {
      require(
        change.new != following.value,
        "\(following.path): a change from \(change.old as Any) to \(change.new as Any) was told")
    }
    following.value = change.new
    following.changes += 1
    if following.isOnce { following.hasEnded = true }
    nest()
  }

  /// What an observer does besides.
  private func nest() {
    // Told while a transaction is open, a prior call would make its changes part of that.
    guard depth < 3, !isInTransaction, choices.pick(4) == 1 else { return }
    depth += 1
    switch choices.pick(9) {
    case 0: end()
    case 1: observe()
    case 2:
      hasNested = true
      replace()
    case 3:
      hasNested = true
      transaction()
    case 4, 5:
      hasNested = true
      edit()
    case 6: copy()
    default:
      hasNested = true
      set()
    }
    depth -= 1
  }

  private func end() {
    if choices.flip(), !copies.isEmpty {
      let copy = copies[choices.pick(copies.count)]
      copy.hasEnded = true
      copy.token = nil
      return
    }
    guard !followings.isEmpty else { return }
    let place = choices.pick(followings.count)
    let following = followings[place]
    say("end #\(place)")
    following.hasEnded = true
    if choices.flip() { following.token?.cancel() } else { following.token = nil }
  }
}

// MARK: Arrays

extension KeyValueRun {
  /// An array that an observer rebuilds: from the edits, by their indexes, and from the values of the
  /// settings.
  final class Copy {
    let path: KeyPath<Track, [Int]>
    var elements: [Int]
    var hasEnded = false
    var token: ObservationToken?

    init(_ path: KeyPath<Track, [Int]>, _ elements: [Int]) {
      self.path = path
      self.elements = elements
    }

    func apply(_ change: KVOChange<[Int]>) {
      if change.phase == .prior { return }
      let new = change.new
      if let old = change.old, change.kind != .setting {
        require(old == elements, "\(elements) was \(old)")
      }
      switch change.kind {
      case .setting: elements = new
      case .insertion(let indexes):
        for place in places(indexes, below: new.count) { elements.insert(new[place], at: place) }
      case .removal(let indexes):
        for place in places(indexes, below: elements.count).reversed() {
          elements.remove(at: place)
        }
      case .replacement(let indexes):
        for place in places(indexes, below: new.count) { elements[place] = new[place] }
      case .edits(let removals, let insertions, let moves):
        apply(
          places(removals, below: elements.count), places(insertions, below: new.count), moves, new)
      }
      require(elements == new, "\(change.kind) made \(elements), not \(new)")
    }

    private func places(_ indexes: RangeSet<Int>, below limit: Int) -> [Int] {
      let places = indexes.ranges.flatMap { $0 }
      require(places.allSatisfy { $0 < limit }, "\(places) is outside of \(limit) elements")
      return places
    }

    private func apply(_ removals: [Int], _ insertions: [Int], _ moves: [KVOMove], _ new: [Int]) {
      let leaving = Set(removals + moves.map(\.from))
      var staying = elements.indices.filter { !leaving.contains($0) }[...]
      var moved: [Int: Int] = [:]
      for move in moves { moved[move.to] = move.from }
      let count = elements.count - removals.count + insertions.count
      elements = (0..<count).map { place in
        if insertions.contains(place) { return new[place] }
        if let source = moved[place] ?? staying.popFirst() { return elements[source] }
        return -1
      }
    }
  }

  /// Begins to rebuild an array.
  private func copy() {
    guard copies.count < 32, !isInTransaction else { return }
    let paths: [KeyPath<Track, [Int]>] = [\.notes, \.picked, \.forwarded]
    let place = choices.pick(paths.count)
    let copy = Copy(paths[place], root[keyPath: paths[place]])
    copies.append(copy)
    var options: KVOChange<[Int]>.Options = []
    switch choices.pick(5) {
    case 0: options = .old
    case 1: options = [.prior, .old]
    case 2: options = .distinct
    case 3: options = .initial
    default: break
    }
    say("copy #\(copies.count - 1) path \(place) \(options) of \(copy.elements)")
    let canary = Canary(cage)
    copy.token = root.observe(copy.path, options: options) {
      [unowned self, unowned copy] track, change in
      canary.check()
      require(!copy.hasEnded, "An observer was told a change after its end")
      say("copy \(change.phase) \(change.kind) \(change.new)")
      copy.apply(change)
      // Its token is not there yet, to end it.
      if change.phase == .initial { return }
      level += 1
      nest()
      level -= 1
    }
  }

  /// Edits an array, through a proxy or without one.
  private func edit() {
    let number = choices.pick(8)
    let array =
      switch choices.pick(4) {
      case 0: root.mutableArray(\.notes)
      case 1: tracks[choices.pick(3)].mutableArray(\.notes)
      case 2 where root.artist?.track != nil: root.mutableArray(\.artist!.track!.notes)
      default: root.mutableArray(\.forwarded)
      }
    change {
      if choices.pick(8) == 0 {
        say("root.notes = [\(number)]")
        root.notes = [number]
      } else {
        say("edit \(number) of \(array.elements)")
        edit(array, number)
      }
    }
  }

  private func edit(_ array: KVOArray<Track, Int>, _ number: Int) {
    let count = array.count
    switch choices.pick(11) {
    case 0, 1: array.append(number)
    case 2: array.insert(contentsOf: [number, number], at: 0)
    case 3: array.insert(number, at: choices.pick(count + 1))
    case 4: if count > 0 { array.remove(at: choices.pick(count)) }
    case 5: if count > 0 { array[choices.pick(count)] = number }
    case 6: if count > 1 { array.swapAt(0, count - 1) }
    case 7: array.sort()
    case 8: if count > 0 { array.move(from: choices.pick(count), to: choices.pick(count)) }
    case 9:
      array.edit { edited in
        edited.removeAll { $0 < number }
        edited.append(number)
        edited.move(from: edited.count - 1, to: choices.pick(edited.count))
        edited[choices.pick(edited.count)] = number
      }
    default: array.removeAll { $0 < number }
    }
  }
}

extension Track {
  var optionalTitle: Int? { title }
  var optionalSeconds: Int? { seconds }
  var optionalSum: Int? { sum }
  var optionalSumAgain: Int? { sumAgain }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzKeyValue(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  let cage = Canary.Cage()
  KeyValueRun(unsafe Choices(start, count), cage).run()
  require(cage.count == 0, "\(cage.count) closures were never released")
  return 0
}
