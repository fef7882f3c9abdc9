import CampanileNotificationCenter
import Foundation

extension Notifications {
  static var instructionCases: [InstructionCase] {
    [1, 100].map { observers in
      InstructionCase(name: "notify-\(observers)", count: 1_000 / max(1, observers / 5)) { count in
        let (center, sink) = (CampanileNotificationCenter.NotificationCenter(), Sink())
        for _ in 0..<observers {
          _ = center.addObserver(forName: .measured, object: nil, queue: nil) { _ in sink.add(1) }
        }
        for _ in 0..<count { center.post(name: .measured, object: nil) }
      }
    } + [
      InstructionCase(name: "notify-object", count: 500) { count in
        let (center, sink) = (CampanileNotificationCenter.NotificationCenter(), Sink())
        let objects = (0..<100).map { _ in Subject() }
        for object in objects {
          _ = center.addObserver(forName: .measured, object: object, queue: nil) { _ in sink.add(1)
          }
        }
        for index in 0..<count { center.post(name: .measured, object: objects[index % 100]) }
      },
      InstructionCase(name: "notify-value", count: 500) { count in
        let (center, sink) = (CampanileNotificationCenter.NotificationCenter(), Sink())
        for value in 0..<100 {
          _ = center.addObserver(forName: .measured, object: value, queue: nil) { _ in sink.add(1) }
        }
        for index in 0..<count { center.post(name: .measured, object: index % 100) }
      },
    ]
  }
}
