import Campanile
import CampanileTesting
import Dispatch
import TestSupport
import Testing

@Suite("Settling", .ownThread)
struct SettlingTests {
  private struct Step: MessageCenter.Message { var number: Int }

  @Test("It returns when all that was posted, and what that caused, has been delivered on main")
  @MainActor
  func chain() async {
    let (center, heard) = (MessageCenter(), Recorder<Int>())
    let tokens = [
      center.observe(Step.self, on: .main) { step in
        heard.record(step.number)
        if step.number < 5 { center.post(Step(number: step.number + 1)) }
      },
      center.observe(Step.self, on: .queue(.main)) { heard.record(10 + $0.number) },
    ]
    await settle()
    onThread { center.post(Step(number: 1)) }()
    #expect(heard.values.isEmpty)
    await settle()
    #expect(heard.values == [1, 11, 2, 12, 3, 13, 4, 14, 5, 15])
    withExtendedLifetime(tokens) {}
  }

  @MainActor
  private final class Cart {
    private(set) var title = ""

    init(_ count: CurrentValue<Int>) {
      count.observe(owner: self, on: .main, options: .initial) { cart, count in
        cart.title = "\(count) items"
      }
    }
  }

  @Test("Beside others, a test on the main actor sees what its model shows", arguments: 0..<200)
  @MainActor
  func models(number: Int) async {
    let count = CurrentValue(number)
    let cart = Cart(count)
    await settle()
    #expect(cart.title == "\(number) items")
    count.value += 1
    await settle()
    #expect(cart.title == "\(number + 1) items")
  }
}
