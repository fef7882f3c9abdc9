import Campanile
import CampanileKVO
import Observation
import Testing

@Suite("Nested key paths", .ownThread)
struct NestedPathTests {
  let log = Log()
  let player = Player()

  private func follow<Value>(
    _ keyPath: KeyPath<Player, Value>, _ options: KVOChange<Value>.Options = []
  ) {
    log.kvo.observe(player, keyPath, options: options) { log, _, change in
      let old = change.old.map { "\($0) -> " } ?? ""
      log.lines.append("\(old)\(change.new)")
    }
  }

  @Test("A change at the end of the path is told")
  func changeAtTheEnd() {
    let track = Track("Aria")
    player.current = track
    follow(\.current?.title)
    track.title = "Bourree"
    #expect(log.lines == ["Optional(\"Bourree\")"])
  }

  @Test("Replacing an object on the way is a change, from the old end to the new one")
  func replacedIntermediate() {
    player.current = Track("Aria")
    follow(\.current!.title, .old)
    player.current = Track("Bourree")
    #expect(log.lines == ["Aria -> Bourree"])
  }

  @Test("The branch that was detached is silent, and the new one is followed")
  func detachedBranch() {
    let old = Track("Aria")
    let new = Track("Bourree")
    player.current = old
    follow(\.current?.title)
    player.current = new
    old.title = "unheard"
    #expect(log.lines.count == 1)
    new.title = "Chaconne"
    #expect(log.lines.last == "Optional(\"Chaconne\")")
  }

  @Test("A path of three steps follows each of them")
  func threeSteps() {
    let artist = Artist("Bach")
    let track = Track("Aria", artist: artist)
    player.current = track
    follow(\.current?.artist?.name)
    artist.name = "JSB"
    track.artist = Artist("Händel")
    player.current = Track("Bourree", artist: Artist("Telemann"))
    player.current = nil
    #expect(
      log.lines == [
        "Optional(\"JSB\")", "Optional(\"Händel\")", "Optional(\"Telemann\")", "nil",
      ])
  }

  @Test("A path through nil begins to be followed when the object comes")
  func throughNil() {
    follow(\.current?.title, [.initial, .old])
    let track = Track("Aria")
    player.current = track
    track.title = "Bourree"
    player.current = nil
    #expect(
      log.lines == [
        "nil", "nil -> Optional(\"Aria\")", "Optional(\"Aria\") -> Optional(\"Bourree\")",
        "Optional(\"Bourree\") -> nil",
      ])
  }

  @Test("The same object put back is followed again")
  func putBack() {
    let track = Track("Aria")
    player.current = track
    follow(\.current?.title)
    player.current = nil
    player.current = track
    track.title = "Bourree"
    #expect(log.lines.count == 3)
  }

  @Test("Setting the same object again leaves the path as it is")
  func sameObject() {
    let track = Track("Aria")
    player.current = track
    follow(\.current?.title)
    player.current = track
    track.title = "Bourree"
    #expect(log.lines == ["Optional(\"Aria\")", "Optional(\"Bourree\")"])
  }

  @Test("An object that is on the path twice is followed once")
  func cycleOfObjects() {
    let radio = Radio()
    radio.next = radio
    log.kvo.observe(radio, \.next?.next?.station) { log, _, change in
      log.lines.append(change.new ?? "nil")
    }
    radio.station = "One"
    #expect(log.lines == ["One"])
    radio.next = nil
    #expect(log.lines == ["One", "nil"])
  }

  @Test("A chain of wrapped properties is followed like one of the macro's")
  func wrappers() {
    let first = Radio()
    let second = Radio()
    first.next = second
    log.kvo.observe(first, \.next?.volume, options: .old) { log, _, change in
      log.lines.append("\(change.old ?? nil, default: "nil") -> \(change.new, default: "nil")")
    }
    second.volume = 3
    first.next = nil
    second.volume = 4
    #expect(log.lines == ["0 -> 3", "3 -> nil"])
  }

  @Test("A path may begin at a class without properties that can be observed")
  func plainRoot() {
    final class Desk: Observable { let player = Player() }
    let desk = Desk()
    log.kvo.observe(desk, \.player.title) { log, _, change in log.lines.append(change.new) }
    desk.player.title = "Aria"
    #expect(log.lines == ["Aria"])
  }

  @Test("A path to a constant is never heard of")
  func constant() {
    final class Desk: Observable { let name = "one" }
    let desk = Desk()
    log.kvo.observe(desk, \.name, options: .initial) { log, _, change in
      log.lines.append(change.new)
    }
    #expect(log.lines == ["one"])
  }

  @Test("A struct on the way is changed with its property")
  func structOnTheWay() {
    struct Size { var width = 0 }
    final class Window: Observable { @Observed var size = Size() }
    let window = Window()
    log.kvo.observe(window, \.size.width, options: .old) { log, _, change in
      log.lines.append("\(change.old ?? -1) -> \(change.new)")
    }
    window.size.width = 3
    window.size = Size(width: 5)
    #expect(log.lines == ["0 -> 3", "3 -> 5"])
  }

  @Test("An element of an array is followed by its place")
  func subscripted() {
    player.tracks = ["Aria", "Bourree"]
    follow(\.tracks[1], .distinct)
    player.tracks[0] = "unheard"
    player.tracks[1] = "Chaconne"
    #expect(log.lines == ["Chaconne"])
  }

  @Test("A weak property is told when it is set, and reads nil after its object has died")
  func weakProperty() {
    var track: Track? = Track("Aria")
    follow(\.follower?.title, .old)
    player.follower = track
    track?.title = "Bourree"
    #expect(log.lines.count == 2)
    track = nil
    player.follower = nil
    #expect(player.follower == nil)
    let next = Track("Chaconne")
    player.follower = next
    #expect(log.lines.last == "nil -> Optional(\"Chaconne\")")
    withExtendedLifetime(next) {}
  }

  @Test("The death of an object on the way ends nothing else")
  func deathOnTheWay() {
    final class Holder: Observable {
      weak var weakTrack: Track?
      @Observed var count = 0
      var title: String? { count >= 0 ? weakTrack?.title : nil }
    }
    let holder = Holder()
    var track: Track? = Track("Aria")
    holder.weakTrack = track
    log.kvo.observe(holder, \.title) { log, _, change in log.lines.append(change.new ?? "nil") }
    track?.title = "Bourree"
    track = nil
    holder.count = 1
    #expect(log.lines == ["Bourree", "nil"])
  }

  @Test("The changed paths name the property that changed, wherever on the way it is")
  func changedPaths() {
    let track = Track("Aria")
    player.current = track
    var paths: [KVOPath] = []
    let token = player.observe(\.current?.title) { _, change in
      #expect(change.path == \Player.current?.title)
      paths += change.changedPaths
    }
    track.title = "Bourree"
    player.current = nil
    #expect(paths == [KVOPath(\Track.title), KVOPath(\Player.current)])
    withExtendedLifetime(token) {}
  }
}
