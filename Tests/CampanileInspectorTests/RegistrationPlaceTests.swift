import Campanile
import CampanileInspector
import TestSupport
import Testing

@Suite("Registrations by line, and what waits", .ownThread)
struct RegistrationPlaceTests {
  @Test("The line that leaks observations stands first")
  func byLine() throws {
    let center = MessageCenter()
    let other = center.observe(Rang.self) { _ in }
    var leak: [ObservationToken] = []
    for _ in 0..<50 { leak.append(center.observe(Rang.self) { _ in }) }
    let line = #line - 1
    let places = Registrations(of: center).byLine
    #expect(places.map(\.registrations.count) == [50, 1])
    #expect(places.first?.line == line)
    #expect(places.description.contains("RegistrationPlaceTests.swift:\(line)  50"))
    withExtendedLifetime((other, leak)) {}
  }

  @Test("Who would hear a message is listed in the order of registration")
  func hearers() {
    let (center, bell, other) = (MessageCenter(), Bell(), Bell())
    let tokens = [
      center.messages(of: Answered.self, about: bell).observe { _ in },
      center.observe(Answered.self) { _ in },
      center.anyMessage.observe { _ in },
      center.messages(of: Answered.self, about: other).observe { _ in },
      center.observe(Rang.self) { _ in },
      center.messages(of: Answered.self, about: bell).observe { _ in },
    ]
    func numbers(_ hearers: Registrations) -> [Int] {
      hearers.all.compactMap { hearer in
        tokens.firstIndex { $0.registration == hearer.registration }
      }
    }
    #expect(numbers(.init(of: center, hearing: Answered.self, about: bell)) == [0, 1, 2, 5])
    #expect(numbers(.init(of: center, hearing: Answered.self, about: other)) == [1, 2, 3])
    #expect(numbers(.init(of: center, hearing: Answered.self)) == [1, 2])
    #expect(numbers(.init(of: center, hearing: Rang.self)) == [2, 4])
    #expect(tokens.map(\.registration.number) == tokens.map(\.registration.number).sorted())
    tokens[1].cancel()
    #expect(numbers(.init(of: center, hearing: Answered.self)) == [2])
  }

  @Test("What waits is listed by place: on a target that observers share, and in a buffer")
  func waiting() {
    let (center, target) = (MessageCenter(), ManualTarget())
    let delivery = Delivery.target(target)
    let tokens = [
      center.observe(Rang.self, on: delivery) { _ in },
      center.observe(Rang.self, on: delivery) { _ in },
      center.observe(Rang.self, on: delivery.buffered(.newest(2))) { _ in },
    ]
    #expect(Registrations(of: center).waiting.isEmpty)
    #expect(delivery.waitingCount == 0)
    for _ in 0..<3 { center.post(Rang()) }
    let waiting = Registrations(of: center).waiting
    #expect(waiting.map(\.count) == [3, 2])
    #expect(waiting.map(\.registrations.count) == [2, 1])
    #expect(delivery.waitingCount == 3)
    target.runAll()
    #expect(Registrations(of: center).waiting.isEmpty)
    #expect(delivery.waitingCount == 0)
    #expect(Delivery.immediate.waitingCount == 0)
    withExtendedLifetime(tokens) {}
  }
}
