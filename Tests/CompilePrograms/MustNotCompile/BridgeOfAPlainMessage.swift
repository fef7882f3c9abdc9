// expect-error: requires that 'Rung' conform to 'TypedNotification'
import Campanile
import CampanileFoundation
import Foundation

struct Rung: MessageCenter.Message {}

func carry(_ bridge: NotificationBridge) {
  bridge.carry(Rung.self)
}
