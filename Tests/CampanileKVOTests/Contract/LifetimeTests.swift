import Campanile
import CampanileKVO
import Dispatch
import Observation
import Testing

/// What ends an observation, and what is kept.
@Suite("The contract: lives and deaths", .ownThread)
struct LifetimeTests {
  let log = Log()

  @Test("K8 The owner lives for the length of a call")
  func ownerDuringCall() {
    let radio = Radio()
    var log: Log? = Log()
    weak let weakLog = log
    let kvo = KVOController(owner: log!)
    defer { withExtendedLifetime(kvo) {} }
    let heard = Recorder<Bool>()
    kvo.observe(radio, \.volume) { owner, _, _ in
      log = nil
      heard.record(weakLog != nil)
      withExtendedLifetime(owner) {}
    }
    radio.volume = 1
    #expect(heard.values == [true])
    #expect(weakLog == nil)
  }

  @Test("K8 An owner is not called from its own deinit on, by a change that it makes there")
  func ownerDeinit() {
    final class Closing {
      let radio: Radio
      let heard: Recorder<Int>
      lazy var kvo = KVOController(owner: self)
      init(_ radio: Radio, _ heard: Recorder<Int>) {
        self.radio = radio
        self.heard = heard
        kvo.observe(radio, \.volume) { [heard] _, _, change in heard.record(change.new) }
      }
      deinit { radio.volume = 9 }
    }
    let heard = Recorder<Int>()
    let radio = Radio()
    _ = Closing(radio, heard)
    #expect(heard.count == 0)
  }

  @Test(
    "K8 Owners that die while others change the object are not called from their deinits on",
    arguments: [1, 2, 8])
  func ownersDie(width: Int) {
    final class Guest: Sendable {
      let hasEnded: Flag
      let heard = Recorder<Int>()
      init(_ hasEnded: Flag) { self.hasEnded = hasEnded }
      deinit { hasEnded.set() }
    }
    let counter = Counter()
    defer { withExtendedLifetime(counter) {} }
    let late = Recorder<Int>()
    let kept = Recorder<KVOController<Guest>>()
    let guests = LiveCount()
    onThreads(width) { _ in
      for _ in 0..<100 {
        let hasEnded = Flag()
        let owner = Guest(hasEnded)
        let kvo = KVOController(owner: owner)
        // It outlives its owner, so that the owner's death alone ends the observation.
        kept.record(kvo)
        let guest = Tracked(guests)
        kvo.observe(counter, \.count) { owner, _, change in
          guest.touch()
          owner.heard.record(change.new)
          if hasEnded.isSet { late.record(change.new) }
        }
        counter.increment()
        if width == 1 { #expect(owner.heard.values == [counter.count]) }
        withExtendedLifetime(owner) {}
      }
    }
    #expect(late.count == 0)
    #expect(counter.count == width * 100)
    #expect(kept.values.allSatisfy { $0.owner == nil && $0.observationCount == 0 })
    counter.increment()
    #expect(late.count == 0)
    withExtendedLifetime(kept) {}
    // What has ended is let go while others register.
    for _ in 0..<4 { withExtendedLifetime(counter.observe(\.count) { _, _ in }) {} }
    #expect(guests.current < 100)
  }

  @Test("K8 With its owner a controller observes nothing any more, whether or not that was noticed")
  func ownerIsGone() {
    final class Guest {}
    let radio = Radio()
    func observe() -> KVOController<Guest> {
      let owner = Guest()
      let kvo = KVOController(owner: owner)
      kvo.observe(radio, \.volume) { _, _, _ in }
      #expect(kvo.isObserving(radio, \.volume))
      withExtendedLifetime(owner) {}
      return kvo
    }
    let kvo = observe()
    #expect(kvo.owner == nil)
    #expect(!kvo.isObserving(radio, \.volume))
    #expect(kvo.observationCount == 0)
    #expect(kvo.description == "KVOController of Guest")
  }

  @Test("K9 An observed object that dies with a delivery on its way is not told of")
  func deathWithDelivery() async {
    let queue = DispatchQueue(label: "kvo")
    queue.suspend()
    let owner = SharedLog()
    var counter: Counter? = Counter()
    counter!.changes(of: \.count).observe(owner: owner, on: .queue(queue)) { owner, _ in
      owner.lines.record("told")
    }
    counter?.count = 1
    counter = nil
    queue.resume()
    await withCheckedContinuation { done in queue.async { done.resume() } }
    #expect(owner.lines.count == 0)
  }

  @Test("K16 What an observer captured is released when the observation ends, however it ends")
  func captures() {
    final class Payload {}
    enum End: CaseIterable { case unobserve, object, controller, replace, once }
    for end in End.allCases {
      var payload: Payload? = Payload()
      weak let weakPayload = payload
      var radio: Radio? = Radio()
      var kvo: KVOController<Log>? = KVOController(owner: log)
      kvo?.observe(radio!, \.volume, options: end == .once ? .once : []) { [payload] _, _, _ in
        withExtendedLifetime(payload) {}
      }
      payload = nil
      #expect(weakPayload != nil)
      switch end {
      case .unobserve: kvo?.unobserveAll()
      case .object: radio = nil
      case .controller: kvo = nil
      case .replace: kvo?.observe(radio!, \.volume, policy: .replace) { _, _, _ in }
      case .once: radio?.volume = 1
      }
      #expect(weakPayload == nil, "\(end)")
      withExtendedLifetime((radio, kvo)) {}
    }
  }

  @Test("K16 A nested path's end lets go of all the objects on it")
  func nestedCaptures() {
    var track: Track? = Track("Aria", artist: Artist("Bach"))
    weak let weakTrack = track
    weak let weakArtist = track?.artist
    let player = Player()
    player.current = track
    log.kvo.observe(player, \.current?.artist?.name, options: [.old, .initial]) { _, _, _ in }
    track = nil
    player.current = nil
    #expect(weakTrack == nil)
    #expect(weakArtist == nil)
  }

  @Test("K16 Old and new values are not kept")
  func values() {
    final class Cover {}
    final class Record: Observable { @Observed var cover: Cover? }
    let record = Record()
    var cover: Cover? = Cover()
    weak let weakCover = cover
    log.kvo.observe(record, \.cover, options: [.old, .prior, .initial]) { _, _, _ in }
    record.cover = cover
    cover = nil
    record.cover = nil
    #expect(weakCover == nil)
  }

  @Test("K16 Owners that have died are forgotten by later observations of the object")
  func deadOwners() {
    final class Payload {}
    let radio = Radio()
    let player = Player()
    var payloads: [() -> Payload?] = []
    var controllers: [KVOController<Log>] = []
    for _ in 0..<100 {
      let owner = Log()
      let payload = Payload()
      payloads.append { [weak payload] in payload }
      let kvo = KVOController(owner: owner)
      kvo.observe(radio, \.volume) { _, _, _ in withExtendedLifetime(payload) {} }
      kvo.observe(player, \.title) { _, _, _ in withExtendedLifetime(payload) {} }
      controllers.append(kvo)
    }
    // The controllers live, and nothing was changed: only the owners' deaths can be noticed.
    #expect(payloads.filter { $0() != nil }.count < 10)
    withExtendedLifetime(controllers) {}
  }

  @Test("K3 Any thread may end the observation of an object that stays in one", arguments: [2, 8])
  func tokenOnAnyThread(width: Int) {
    let radio = Radio()
    var heard = 0
    let tokens = (0..<width * 50).map { _ in radio.observe(\.volume) { _, _ in heard += 1 } }
    let meeting = Meeting(of: width + 1)
    let ends = (0..<width).map { part in
      onThread {
        meeting.join()
        for index in stride(from: part, to: tokens.count, by: width) { tokens[index].cancel() }
      }
    }
    meeting.join()
    for volume in 1...200 { radio.volume = volume }
    for end in ends { end() }
    let known = heard
    radio.volume = 0
    #expect(heard == known)
    #expect(tokens.allSatisfy { !$0.isActive })
  }

  @Test("K16 Observing and unobserving over and over leaves nothing behind", arguments: [1, 2, 8])
  func churn(width: Int) {
    final class Payload: Sendable {
      let live: Recorder<Int>
      init(_ live: Recorder<Int>) {
        self.live = live
        live.record(1)
      }
      deinit { live.record(-1) }
    }
    let live = Recorder<Int>()
    let counter = Counter()
    defer { withExtendedLifetime(counter) {} }
    let kvo = KVOController(owner: SharedLog.forever)
    defer { withExtendedLifetime(kvo) {} }
    onThreads(width) { index in
      for round in 0..<500 {
        let payload = Payload(live)
        kvo.observe(counter, \.double, policy: .append) { _, _, _ in
          withExtendedLifetime(payload) {}
        }
        let token = counter.observe(\.count) { _, _ in withExtendedLifetime(payload) {} }
        if round % 7 == 0 { counter.increment() }
        kvo.unobserve(counter, \.double)
        withExtendedLifetime(token) {}
      }
    }
    #expect(live.values.reduce(0, +) == 0)
    #expect(kvo.observationCount == 0)
  }
}
