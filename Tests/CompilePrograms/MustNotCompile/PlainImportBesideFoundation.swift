// expect-error: 'NotificationCenter' is ambiguous for type lookup in this context
import CampanileNotificationCenter
import Foundation

func post(_ center: NotificationCenter) {}
