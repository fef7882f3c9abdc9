import Campanile
import CampanileFoundation
import Foundation
import TestSupport
import XCTest

/// Deliveries on the main run loop, shown on its thread: XCTest calls its tests there.
final class MainRunLoopTests: XCTestCase {
  func testDeliveryThatWasNamedOnAnotherThreadIsInline() {
    let mode = RunLoop.Mode("MainRunLoopTests")
    let (named, heard) = (Recorder<Delivery>(), Recorder<Int>())
    onThreads(1) { _ in
      named.record(.runLoop(.main, modes: [mode]))
      named.record(.thread(.mainThread))
    }
    let center = MessageCenter()
    let tokens = named.values.map { delivery in
      center.observe(Rung.self, on: delivery) { heard.record($0.number) }
    }
    center.post(Rung(number: 1))
    XCTAssertEqual(heard.values, [1, 1])
    // Elsewhere it waits for a turn of the run loop.
    onThreads(1) { _ in center.post(Rung(number: 2)) }
    XCTAssertEqual(heard.values, [1, 1])
    // A source that is due at once, and not ours.
    RunLoop.main.add(Timer(timeInterval: 0, repeats: false) { _ in }, forMode: mode)
    _ = RunLoop.main.run(mode: mode, before: Date())
    XCTAssertEqual(heard.values, [1, 1, 2])
    withExtendedLifetime(tokens) {}
  }
}
