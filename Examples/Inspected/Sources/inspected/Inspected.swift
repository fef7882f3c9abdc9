import Campanile
import CampanileInspector
import Dispatch

// A program to look at in a browser. It prints the address of its page, and then reads commands
// from standard input: "play" plays a track, "turn" turns a knob whose volume is stored and set again, "hang"
// lets an observer hang until "go", and "quit" ends the program.

struct TrackChanged: MessageCenter.Message {
  var title: String
}

struct CoverWanted: MessageCenter.Message {
  var title: String
}

struct LevelChanged: MessageCenter.Message {
  var level: Float
}

struct VolumeChanged: MessageCenter.Message {
  var round: Int
}

struct SettingsStored: MessageCenter.Message {
  var round: Int
}

struct Hang: MessageCenter.Message {}

/// Sets the volume again when the settings have been stored.
final class Knob: Sendable {
  func follow(_ center: MessageCenter) {
    center.observe(SettingsStored.self, owner: self) { knob, message in
      knob.turn(center, message.round + 1)
    }
  }

  func turn(_ center: MessageCenter, _ round: Int) { center.post(VolumeChanged(round: round)) }
}

/// Stores the volume, and tells so: the two post to each other.
final class Settings: Sendable {
  private let queue = DispatchQueue(label: "settings")

  func follow(_ center: MessageCenter) {
    center.observe(VolumeChanged.self, owner: self, on: .queue(queue)) { _, message in
      if message.round < 20 { center.post(SettingsStored(round: message.round)) }
    }
  }
}

/// Shows a title, and requests a cover for it.
final class Screen: Sendable {
  func follow(_ center: MessageCenter) {
    center.observe(TrackChanged.self, owner: self) { _, message in
      center.post(CoverWanted(title: message.title))
    }
  }
}

/// Loads covers, and blocks the posting thread for too long.
final class CoverLoader: Sendable {
  func follow(_ center: MessageCenter) {
    center.observe(CoverWanted.self, owner: self) { loader, _ in loader.load() }
  }

  private func load() {
    let clock = ContinuousClock()
    let end = clock.now.advanced(by: .milliseconds(20))
    while clock.now < end {}
  }
}

/// Shows levels on a suspended queue.
final class Meter: Sendable {
  private let queue = DispatchQueue(label: "meter")

  init() { queue.suspend() }
  deinit { queue.resume() }

  func follow(_ center: MessageCenter) {
    center.observe(
      LevelChanged.self, owner: self, on: .queue(queue, buffering: .newest(4))
    ) { _, _ in }
  }
}

@main
enum Inspected {
  static func main() async throws {
    let center = MessageCenter(label: "player")
    let inspector = Inspector(of: center, values: true)
    let (screen, loader, meter) = (Screen(), CoverLoader(), Meter())
    let (knob, settings) = (Knob(), Settings())
    screen.follow(center)
    loader.follow(center)
    meter.follow(center)
    knob.follow(center)
    settings.follow(center)
    let semaphore = DispatchSemaphore(value: 0)
    let hanging = center.observe(Hang.self, on: .queue(DispatchQueue(label: "jobs"))) { _ in
      semaphore.wait()
    }
    let paused = center.observe(LevelChanged.self) { _ in }
    paused.pause()

    let page = try await inspector.serve()
    print(page)
    // A thread that waits for input must not be one on which tasks run.
    let thread = DispatchQueue(label: "standard input")
    await withCheckedContinuation { isDone in
      thread.async {
        var count = 0
        while let line = readLine(), line != "quit" {
          switch line {
          case "turn": knob.turn(center, 1)
          case "hang": for _ in 1...3 { center.post(Hang()) }
          case "go": for _ in 1...3 { semaphore.signal() }
          default:
            count += 1
            play(count, center)
          }
          print("played \(count)")
        }
        isDone.resume()
      }
    }
    await page.stop()
    withExtendedLifetime((screen, loader, meter, knob, settings, hanging, paused)) {}
  }

  private static func play(_ number: Int, _ center: MessageCenter) {
    for step in 1...10 { center.post(LevelChanged(level: Float(step) / 10)) }
    // This title is markup, which the page must show as text.
    let title = number == 1 ? "<img src=x onerror=alert(1)>" : "Aria \(number)"
    center.post(TrackChanged(title: title))
  }
}
