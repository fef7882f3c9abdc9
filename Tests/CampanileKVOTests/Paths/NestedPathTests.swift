import Campanile
import CampanileKVO
import Observation
import Testing

@Suite("Nested key paths", .ownThread)
struct NestedPathTests {
  let log = Log()
  let player = Player()

  @Test("F7 Objects on the way are followed as they come, are replaced, go and come back")
  func replaced() {
    let (first, second) = (Track("Aria"), Track("Bourree"))
    log.follow(player, \.current?.title, [.initial, .old])
    player.current = first
    first.title = "Canon"
    player.current = second
    first.title = "unheard"
    second.title = "Double"
    player.current = nil
    player.current = first
    player.current = first
    first.title = "Echo"
    #expect(
      log.lines.map { $0.replacing("Optional", with: "") } == [
        "nil", "nil -> (\"Aria\")", "(\"Aria\") -> (\"Canon\")", "(\"Canon\") -> (\"Bourree\")",
        "(\"Bourree\") -> (\"Double\")", "(\"Double\") -> nil", "nil -> (\"unheard\")",
        "(\"unheard\") -> (\"unheard\")", "(\"unheard\") -> (\"Echo\")",
      ])
  }

  @Test("A path of three steps follows each of them")
  func threeSteps() {
    let artist = Artist("Bach")
    let track = Track("Aria", artist: artist)
    player.current = track
    log.follow(player, \.current?.artist?.name)
    artist.name = "JSB"
    track.artist = Artist("Händel")
    player.current = Track("Bourree", artist: Artist("Telemann"))
    player.current = nil
    #expect(
      log.lines == [
        "Optional(\"JSB\")", "Optional(\"Händel\")", "Optional(\"Telemann\")", "nil",
      ])
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
