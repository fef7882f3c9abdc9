import Dispatch
import Testing

@testable import Campanile

@Suite("The default center", .ownThread)
struct DefaultCenterTests {
  @Test("It is one center, and has a label")
  func shared() {
    #expect(MessageCenter.default === MessageCenter.default)
    #expect(MessageCenter.default.label == "default")
  }

  @Test("D9 withDefault replaces it for the operation")
  func replaced() {
    let center = MessageCenter()
    let shared = MessageCenter.default
    let result = MessageCenter.withDefault(center) {
      #expect(MessageCenter.default === center)
      let nested = MessageCenter()
      MessageCenter.withDefault(nested) { #expect(MessageCenter.default === nested) }
      #expect(MessageCenter.default === center)
      return 5
    }
    #expect(result == 5)
    #expect(MessageCenter.default === shared)
  }

  @Test("withDefault replaces it for the tasks of an asynchronous operation")
  func replacedInTasks() async {
    let center = MessageCenter()
    await MessageCenter.withDefault(center) {
      await Task.yield()
      #expect(MessageCenter.default === center)
      async let child = MessageCenter.default
      #expect(await child === center)
      #expect(await Task { MessageCenter.default }.value === center)
      #expect(await Task.detached { MessageCenter.default }.value !== center)
      let onQueue = await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: MessageCenter.default) }
      }
      #expect(onQueue !== center)
    }
    #expect(MessageCenter.default !== center)
  }

  @Test("withDefault passes on what the operation throws")
  func throwing() async {
    let center = MessageCenter()
    #expect(throws: TestFailure.self) {
      try MessageCenter.withDefault(center) { throw TestFailure() }
    }
    await #expect(throws: TestFailure.self) {
      try await MessageCenter.withDefault(center) {
        await Task.yield()
        throw TestFailure()
      }
    }
  }

  @Test("Two tasks have their replacements at the same time")
  func twoTasks() async {
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let center = MessageCenter()
          return await MessageCenter.withDefault(center) {
            let heard = Recorder<Int>()
            let token = MessageCenter.default.observe(Tick.self) { heard.record($0.number) }
            await Task.yield()
            MessageCenter.default.post(Tick(number: 1))
            withExtendedLifetime(token) {}
            return heard.values == [1] && MessageCenter.default === center
          }
        }
      }
      for await result in group { #expect(result) }
    }
  }
}
