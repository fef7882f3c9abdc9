// Makes a journey of scripts/check-journeys, which counts the files that it passes.

import Campanile
import Dispatch

struct Rung: MessageCenter.Message {}
final class Ringer: Sendable {}

@inline(never) func beginJourney() {}
@inline(never) func endJourney() {}

let queue = DispatchQueue(label: "tower")

/// Makes a journey twice, so that the second one finds the record of its thread and the like.
///
/// The second one is counted. Each step ends before the queue begins to deliver, and the next one begins
/// when that is done, so a journey always passes the same files.
func travel(_ steps: (() -> Void)...) {
  for _ in 1...2 {
    beginJourney()
    for step in steps {
      queue.suspend()
      step()
      queue.resume()
      queue.sync {}
    }
  }
  endJourney()
}

switch CommandLine.arguments.last {
case "owner":
  let center = MessageCenter()
  let ringer = Ringer()
  center.observe(Rung.self, owner: ringer) { _, _ in print("heard") }
  travel { center.post(Rung()) }
case "bounded":
  let center = MessageCenter()
  let token = center.observe(Rung.self, on: .queue(queue, buffering: .newest(4))) { _ in
    print("heard")
  }
  travel { center.post(Rung()) }
  withExtendedLifetime(token) {}
case "paused":
  let strokes = CurrentValue(0)
  let token = strokes.observe(on: .queue(queue)) { _ in print("heard") }
  travel({ token.pause() }, { strokes.value += 1 }, { token.resume() })
default: fatalError("There is no such journey.")
}
