import Campanile
import Dispatch

struct TrackChanged: MessageCenter.Message { var title: String }
struct TrackEnded: MessageCenter.Message {}
struct LevelChanged: MessageCenter.Message { typealias Subject = Player }

final class Player: Sendable {}
final class Radio: Sendable {}
struct Song {}

// MARK: Messages and subjects

func post(_ center: MessageCenter, _ player: Player, _ optional: Player?, _ radio: Radio) {
  // expect-error: conform to 'MessageCenter.Message'
  center.post("Aria")
  // expect-error: initializer is inaccessible
  center.post(TrackChanged(title: "Aria"), about: MessageCenter.NoSubject())
  // expect-error: cannot convert value of type 'Player' to expected argument type
  center.post(TrackChanged(title: "Aria"), about: player)
  // expect-error: cannot convert value of type 'Radio' to expected argument type
  center.post(LevelChanged(), about: radio)
  // expect-error: must be unwrapped
  center.post(LevelChanged(), about: optional)
}

// expect-error: does not conform to protocol 'MessageCenter.Message'
struct SongChanged: MessageCenter.Message { typealias Subject = Song }

final class PlainPlayer {}
struct PlainChanged: MessageCenter.Message { typealias Subject = PlainPlayer }

func subjects(_ center: MessageCenter, _ player: Player, _ optional: Player?, _ radio: Radio) {
  // The subject is given to `observe`, and not to `messages(of:about:)`.
  // expect-error: 'observe(_:about:on:options:_:)' is unavailable: Name the subject first: messages(of: type, about: subject).observe
  _ = center.observe(LevelChanged.self, about: player) { _ in }
  // expect-error: value of optional type 'Player?' must be unwrapped to a value of type 'Player'
  _ = center.messages(of: LevelChanged.self, about: optional).observe { _ in }
  // expect-error: cannot convert value of type 'Radio' to expected argument type
  _ = center.messages(of: LevelChanged.self, about: radio).observe { _ in }
  // `withSubject` hands over one value, with message and subject in it.
  let posted = center.messages(of: LevelChanged.self).withSubject
  // expect-error: contextual closure type '@Sendable (MessageCenter.Posted<LevelChanged>) throws -> Void' expects 1 argument, but 2 were used in closure body
  _ = posted.observe { message, player in print(message) }
  // expect-error: does not conform to the 'Sendable' protocol
  _ = center.messages(of: PlainChanged.self).withSubject
}

// MARK: Tokens

func tokens(_ center: MessageCenter, _ ticks: Broadcaster<Int>) {
  // expect-error: result of call to 'observe(_:on:options:file:line:_:)' is unused
  center.observe(TrackChanged.self) { print($0.title) }
  // expect-error: result of call to 'observeAsync
  center.messages(of: TrackChanged.self).observeAsync { print($0.title) }
  // expect-error: result of call to 'observe
  ticks.observe { print($0) }
  // expect-error: was never used
  let token = center.observe(TrackChanged.self) { print($0.title) }
}

func stop(_ token: ObservationToken, _ registration: Registration) async {
  // expect-error: expression is 'async' but is not marked with 'await'
  _ = token.cancelAndWait()
  // expect-error: expression is 'async' but is not marked with 'await'
  _ = registration.cancelAndWait()
}

func stopNow(_ token: ObservationToken) {
  // expect-error: 'await' in a function that does not support concurrency
  _ = await token.cancelAndWait()
}

// MARK: Options and places

func options(_ center: MessageCenter, _ ticks: Broadcaster<Int>, _ song: CurrentValue<Song>) {
  // What is called at once does not wait, so that there is nothing to bound.
  // expect-error: 'immediate(buffering:)' is unavailable: An immediate observer is called at once and keeps nothing waiting: name a place for it, such as .queue(queue, buffering: .newest(4))
  _ = ticks.observe(on: .immediate(buffering: .newest(4))) { print($0) }
  // expect-error: 'distinct' is unavailable: Only changes of a state can be compared, and only if its values are Equatable
  _ = center.messages(of: TrackChanged.self).observe(options: .distinct) { print($0.title) }
  // expect-error: 'distinct' is unavailable: Only changes of a state can be compared
  _ = song.observe(options: .distinct) { _ in }
  // expect-error: 'initial' is unavailable: Only a state has a value to begin with: CurrentValue, ReadOnlyState
  _ = center.observe(TrackChanged.self, options: .initial) { print($0.title) }
  // expect-error: 'initial' is unavailable: Only a state has a value to begin with
  _ = ticks.observe(options: .initial) { print($0) }
}

// A stored delivery says nothing about isolation; the form for the main queue is `.queue(.main)`.
// expect-error: 'main' is unavailable: A Delivery says nothing about isolation: use .queue(.main), or a MainDelivery for .main
let delivery: Delivery = .main

// MARK: Values and read-only views

func values(_ ticks: Broadcaster<Int>, _ titles: Signal<String>, _ isPlaying: ReadOnlyState<Bool>) {
  // expect-error: has no member 'value'
  print(ticks.value)
  // expect-error: cannot convert value of type 'String' to expected argument type 'Int'
  ticks.send("Aria")
  // expect-error: value of type 'Signal<String>' has no member 'send'
  titles.send("Aria")
  // expect-error: cannot assign to property: 'value' is a get-only property
  isPlaying.value = false
}

func read(_ center: MessageCenter) async {
  // A loop reads a source, and not its values.
  // expect-error: for-in loop requires 'MessageCenter.Messages<TrackChanged>' to conform to 'AsyncSequence'
  for await message in center.messages(of: TrackChanged.self) { print(message.title) }
}

final class Cover { var data: [UInt8] = [] }
// expect-error: does not conform to the 'Sendable' protocol
typealias Covers = Broadcaster<Cover>

// MARK: Observers

func announce(_ message: TrackEnded) {}

func observers(_ center: MessageCenter, _ song: Song) {
  // expect-error: value of type 'TrackChanged' has no member 'titel'
  _ = center.observe(TrackChanged.self) { print($0.titel) }
  // expect-error: cannot convert value of type 'TrackChanged' to expected argument type 'TrackEnded'
  _ = center.observe(TrackChanged.self) { announce($0) }
  // expect-error: instance method 'observe(_:on:options:file:line:_:)' requires that 'String' conform to 'MessageCenter.Message'
  _ = center.observe(String.self) { print($0) }
  // expect-error: be a class type
  center.observe(TrackChanged.self, owner: song) { song, message in print(message) }
}

func twoTypes(_ center: MessageCenter) -> ObservationToken {
  // expect-error: missing argument labels 'owner:options:file:line::' in call
  // expect-error: cannot convert value of type 'TrackEnded.Type' to expected argument type
  // expect-error: cannot convert return expression of type 'Registration' to return type 'ObservationToken'
  // expect-error: requires that '(Any) -> ()' be a class type
  center.observe(TrackChanged.self, TrackEnded.self) { print($0) }
}

// MARK: Isolation

@globalActor actor Library {
  static let shared = Library()
}

@Library func show(_ title: String) {}
@MainActor func show(_ message: TrackChanged) { print(message.title) }
@MainActor protocol Delegate: AnyObject { func stop() }

actor Log {
  var titles: [String] = []

  func follow(_ center: MessageCenter) {
    center.observe(TrackChanged.self, owner: self) { log, message in
      // expect-error: actor-isolated property 'titles'
      log.titles.append(message.title)
    }
  }
}

func isolation(_ center: MessageCenter, _ queue: DispatchQueue, _ log: Log, _ other: Log) {
  // expect-error: cannot convert value of type 'Log' to expected argument type 'Delivery'
  center.observe(TrackChanged.self, owner: log, on: log) { log, message in
    log.titles.append(message.title)
  }
  center.observe(TrackChanged.self, on: log) { _, message in
    // expect-error: actor-isolated property 'titles'
    other.titles.append(message.title)
  }
  center.observe(TrackChanged.self, on: Library.shared) { _, message in
    // expect-error: call to global actor 'Library'-isolated global function 'show'
    show(message.title)
  }
  // expect-error: loses global actor 'Library'
  _ = center.observe(TrackChanged.self) { @Library message in show(message.title) }
  // expect-error: main actor-isolated
  _ = center.observe(TrackChanged.self, on: .queue(queue)) { show($0) }
}

func call(_ delegates: Multicast<any Delegate>) {
  // expect-error: main actor-isolated instance method 'stop()'
  delegates.call { $0.stop() }
}

@MainActor final class Screen {
  var title = ""
  var token: ObservationToken?

  func onAQueue(_ center: MessageCenter, _ queue: DispatchQueue) {
    center.observe(TrackChanged.self, owner: self, on: .queue(queue)) { screen, message in
      // expect-error: main actor-isolated property 'title' can not be mutated from a Sendable closure
      screen.title = message.title
    }
    // `.queue(.main)` is for observers that are not isolated.
    center.observe(TrackChanged.self, owner: self, on: .queue(.main)) { screen, message in
      // expect-error: main actor-isolated property 'title' can not be mutated from a Sendable closure
      screen.title = message.title
    }
  }

  func anywhere(_ center: MessageCenter) {
    center.messages(of: TrackChanged.self).observeAsync(owner: self) { screen, message in
      await Task.yield()
      // expect-error: main actor-isolated property 'title' can not be mutated from a Sendable closure
      screen.title = message.title
    }
    // expect-error: main actor-isolated property 'title' can not be mutated from a Sendable closure
    token = center.observe(TrackChanged.self) { [weak self] in self?.title = $0.title }
  }

  nonisolated func read(_ center: MessageCenter) async {
    for await message in center.messages(of: TrackChanged.self).values() {
      // expect-error: main actor-isolated property 'title' can not be mutated
      title = message.title
    }
  }

  func parameters(_ center: MessageCenter) {
    // An observer without an owner takes one, and one with an owner takes the message alone.
    // expect-error: contextual closure type '@MainActor @Sendable (TrackChanged) throws -> Void' expects 1 argument, but 2 were used in closure body
    token = center.observe(TrackChanged.self, on: .main) { screen, message in print(message.title) }
    // expect-error: contextual closure type '@MainActor @Sendable (Screen, TrackChanged) throws -> Void' expects 2 arguments, but 1 was used in closure body
    center.observe(TrackChanged.self, owner: self, on: .main) { message in print(message.title) }
    // expect-error: argument 'on' must precede argument 'options'
    center.observe(TrackChanged.self, owner: self, options: .once, on: .main) { _, _ in }
    // An observer suspends, and is not asynchronous.
    // expect-error: cannot pass function of type '@Sendable (Screen, TrackChanged) async -> ()' to parameter expecting synchronous function type
    center.observe(TrackChanged.self, owner: self, on: .main) { screen, message in
      await Task.yield()
    }
  }
}
